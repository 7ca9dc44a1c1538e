#pragma once
// What the kernels and the quick host version of "grouped_top_k" share.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "common/base/host_device.h"

namespace octavo::switch_routing {

OCTAVO_HD inline bool is_nan(float x) { return x != x; }

OCTAVO_HD inline float sigmoid_score(float z) { return 1.0f / (1.0f + std::exp(-z)); }

// A whole number that orders like (value, lower id first): the larger of two keys is the better
// choice, and a maximum over keys is a choice with its id. All bits of the value count, so that no
// two scores become equal; value is not NaN, -0 is 0.
OCTAVO_HD inline unsigned long long choice_key(float value, int id) {
  const float canonical = value + 0.0f;
  std::uint32_t bits = 0;
  memcpy(&bits, &canonical, sizeof(bits));
  bits = bits >> 31 != 0 ? ~bits : bits | 0x80000000u;  // negative numbers order the other way
  return static_cast<unsigned long long>(bits) << 32 | (0xffffffffu - static_cast<unsigned>(id));
}
OCTAVO_HD inline int id_of(unsigned long long key) {
  return static_cast<int>(0xffffffffu - static_cast<std::uint32_t>(key));
}

// What a sum of weights is divided by: never 0.
OCTAVO_HD inline float guarded(float sum) { return sum + 1e-20f; }

}  // namespace octavo::switch_routing
