#pragma once
// The two scores that routers use, in double, for references and for training.

#include <vector>

#include "common/base/view.h"

namespace octavo::switch_routing {

// Equation 1 of the README: p_e = exp(z_e - max z) / sum_i exp(z_i - max z), z [E]. A row without a
// softmax (a NaN, a +inf, all -inf) is NaN throughout.
std::vector<double> softmax(View<const float, 1> z);

// s_e = 1 / (1 + exp(-z_e)), z [E].
std::vector<double> sigmoid(View<const float, 1> z);

}  // namespace octavo::switch_routing
