#pragma once
// Rotary position embedding (Su et al. 2021, RoFormer). A checkpoint's rows are laid out for one
// pairing of elements; with the other it still speaks, and forgets where words stand.

#include <cstdint>
#include <span>

#include "common/base/view.h"

namespace octavo {

enum class RopePairing : std::uint8_t {
  kHalves,      // element i turns with element i + Dh/2: Llama, Mixtral
  kNeighbours,  // element 2i turns with element 2i + 1: DeepSeek's rope_interleave
};

// Turns x [T, H, Dh] in place, equation 2 of the README:
//   (a, b) -> (a cos - b sin, b cos + a sin),  angle = position * theta^(-2i / Dh)
// where a and b are the elements of pair i. position [T]. Throws Error unless Dh is even.
void rope_reference(View<float, 3> x, std::span<const std::int64_t> position, double theta,
                    RopePairing pairing = RopePairing::kHalves);

}  // namespace octavo
