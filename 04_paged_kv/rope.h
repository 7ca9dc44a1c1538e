#pragma once
// Rotary position embedding (Su et al. 2021, RoFormer), in the half-split pairing that published
// Llama and Mixtral checkpoints use: element i turns with element i + Dh/2.

#include <cstdint>
#include <span>

#include "common/base/view.h"

namespace octavo {

// Turns x [T, H, Dh] in place, equation 2 of the README:
//   (a, b) -> (a cos - b sin, b cos + a sin),  a = x_i, b = x_{i + Dh/2},  angle = position *
//   theta^(-2i / Dh)
// position [T]. Throws Error unless Dh is even.
void rope_reference(View<float, 3> x, std::span<const std::int64_t> position, double theta);

}  // namespace octavo
