#pragma once
// Seeded test data: the same values on every machine.

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "common/base/philox.h"

namespace octavo::testing {

// n normal values of mean 0 and the given deviation (Box-Muller on Philox); `stream` separates the
// inputs of one test.
inline std::vector<float> normal(std::int64_t n, std::uint32_t stream, double deviation = 1.0) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double u = 1.0 - static_cast<double>(uniform(1, stream, i, Purpose::kTest, 0));
    const double v = static_cast<double>(uniform(1, stream, i, Purpose::kTest, 1));
    values[i] = static_cast<float>(deviation * std::sqrt(-2 * std::log(u)) *
                                   std::cos(2 * std::numbers::pi * v));
  }
  return values;
}

}  // namespace octavo::testing
