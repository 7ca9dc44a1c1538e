#include <algorithm>
#include <utility>

#include "02_sparse_moe/moe.h"
#include "common/base/error.h"

namespace octavo {

MoeLayer::MoeLayer(std::unique_ptr<Linear> gate, std::unique_ptr<Router> router,
                   std::unique_ptr<ExpertWeights> experts)
    : gate_(std::move(gate)), router_(std::move(router)), experts_(std::move(experts)) {
  require(
      gate_->outputs() == router_->experts() && gate_->outputs() == experts_->experts(),
      "MoE layer: the gate has {} outputs, the router {} experts, the layer {}; they must agree",
      gate_->outputs(), router_->experts(), experts_->experts());
}

std::int64_t SeparateExperts::workspace(std::int64_t M) const {
  std::int64_t most = 0;
  for (const auto& expert : experts_) most = std::max(most, expert->workspace(M));
  return most;
}

std::int64_t MoeLayer::workspace(std::int64_t T) const {
  return std::max(gate_->workspace(T), experts_->workspace(T));
}

void MoeLayer::forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const {
  const std::int64_t T = x.extent(0), E = gate_->outputs();
  std::vector<float> logits(static_cast<std::size_t>(T * E));
  gate_->forward(exec, x, View<float, 2>(logits, {T, E}));
  const RoutingPlan plan = router_->route(View<const float, 2>(logits, {T, E}));
  if (observer_) observer_(plan);
  moe_reference(exec, plan, *experts_, x, y);
}

void moe_reference(Exec& exec, const RoutingPlan& plan, const ExpertWeights& experts,
                   View<const float, 2> x, View<float, 2> y) {
  const std::int64_t D = x.extent(1), slots = plan.tokens * plan.top_k;
  require(x.extent(0) == plan.tokens && y.extents() == x.extents(),
          "MoE layer: x has {} rows, y {}, the plan is for {} tokens", x.extent(0), y.extent(0),
          plan.tokens);
  // Expert by expert over the sorted slots: gather its rows, run it, put each result at its slot.
  std::vector<float> slot_output(static_cast<std::size_t>(slots * D));  // [T * k, D]
  for (std::int64_t e = 0; e < plan.experts; ++e) {
    const std::int64_t begin = plan.offsets[static_cast<std::size_t>(e)];
    const std::int64_t M = plan.offsets[static_cast<std::size_t>(e) + 1] - begin;
    if (M == 0) continue;
    const int* slot = plan.order.data() + begin;
    std::vector<float> rows(static_cast<std::size_t>(M * D)), result(rows.size());
    for (std::int64_t m = 0; m < M; ++m) {
      std::copy_n(x(slot[m] / plan.top_k).data(), D, rows.data() + m * D);
    }
    experts.forward(exec, e, View<const float, 2>(rows, {M, D}), View<float, 2>(result, {M, D}));
    for (std::int64_t m = 0; m < M; ++m) {
      std::copy_n(result.data() + m * D, D, slot_output.data() + slot[m] * D);
    }
  }
  // Equation 3: the weighted sum, in slot order.
  for (std::int64_t t = 0; t < plan.tokens; ++t) {
    for (std::int64_t d = 0; d < D; ++d) {
      double sum = 0;
      for (std::int64_t j = 0; j < plan.top_k; ++j) {
        const std::int64_t s = t * plan.top_k + j;
        if (plan.ids[static_cast<std::size_t>(s)] < 0) continue;
        sum += static_cast<double>(plan.weights[static_cast<std::size_t>(s)]) *
               static_cast<double>(slot_output[static_cast<std::size_t>(s * D + d)]);
      }
      y(t, d) = static_cast<float>(sum);
    }
  }
}

}  // namespace octavo
