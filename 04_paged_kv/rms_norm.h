#pragma once
// RMSNorm (Zhang and Sennrich 2019): the only normalisation of the decoders here.

#include <span>

#include "common/base/view.h"

namespace octavo {

// y_td = x_td / sqrt(mean_d x_td^2 + epsilon) * weight_d, equation 1 of the README, in double. x, y
// [T, D]; weight [D].
void rms_norm_reference(View<const float, 2> x, std::span<const float> weight, double epsilon,
                        View<float, 2> y);

}  // namespace octavo
