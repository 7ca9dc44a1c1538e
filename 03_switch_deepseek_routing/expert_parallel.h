#pragma once
// Expert parallelism: each rank has its own tokens and E / R of the experts. Rows travel to their
// experts and back (Lepikhin et al. 2020, GShard; the order of steps is that of MegaBlocks, Gale et
// al. 2022).

#include <functional>

#include "02_sparse_moe/routing.h"
#include "03_switch_deepseek_routing/communicator.h"
#include "common/base/view.h"

namespace octavo::switch_routing {

// Applies expert e to rows x [M, D], giving y [M, D]; M >= 1. Rows do not influence each other.
using RunExpert = std::function<void(std::int64_t e, View<const float, 2> x, View<float, 2> y)>;

// One layer for this rank's tokens, by the plan for them alone. x, y [T, D], T >= 0 and its own on
// each rank; the ranks divide the experts, and rank r has r E/R .. (r + 1) E/R - 1. Equation 3 of
// chapter 02: the sum runs in slot order, so that y has the bits it has on a single rank. Throws
// Error for a plan whose vectors do not fit its sizes.
void expert_parallel_layer(Communicator& ranks, const RoutingPlan& plan, const RunExpert& run,
                           View<const float, 2> x, View<float, 2> y);

// Equation 16: bytes that a rank sends for a layer of T tokens, if the slots spread evenly over the
// ranks: rows of D values of `bytes` to the experts, and as many results from here to their owners.
// Throws Error when R is below 1 or another size below 0.
double all_to_all_bytes(std::int64_t T, std::int64_t k, std::int64_t D, std::int64_t R,
                        double bytes_out, double bytes_back);

}  // namespace octavo::switch_routing
