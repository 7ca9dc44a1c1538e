#pragma once
// What a router learns from: the gradient of a loss by the logits, given its gradient by the
// weights of the chosen experts. The choice itself has none.

#include <vector>

#include "02_sparse_moe/routing.h"

namespace octavo {

// dL/dz [T, E] from `upstream`, dL/dw [T, k], for the weights w of `plan` (equation 5 of the
// README). `normalized`: w is a softmax of the chosen logits, whose gradient with k = 1 is 0; else
// w is the chosen part of the softmax over all experts, `logits` [T, E]. A slot without an expert
// (-1) counts for nothing: a softmax over the chosen is one over those that are left.
std::vector<double> router_gradient(const RoutingPlan& plan, View<const float, 2> logits,
                                    View<const double, 2> upstream, bool normalized);

}  // namespace octavo
