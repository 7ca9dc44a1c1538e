#include "02_sparse_moe/moe.h"

#include <algorithm>
#include <utility>

#include "common/base/counted.h"
#include "common/base/error.h"
#include "common/device/overlap.h"

namespace octavo {
namespace {

RoutingPlan sorted_plan(View<const int, 2> ids, View<const float, 2> weights, std::int64_t E) {
  RoutingPlan plan{.tokens = ids.extent(0),
                   .experts = E,
                   .top_k = ids.extent(1),
                   .ids = {ids.data(), ids.data() + ids.size()},
                   .weights = {weights.data(), weights.data() + weights.size()}};
  sort_slots(plan);
  return plan;
}

}  // namespace

void LoopedExperts::forward(Exec& exec, View<const float, 2> x, View<const int, 2> ids,
                            View<const float, 2> weights, View<float, 2> y) const {
  require(is_host(exec.backend()), "experts one at a time run on the host, not on {}",
          name_of(exec.backend()));
  require(x.extent(0) == ids.extent(0) && y.extents() == x.extents() &&
              weights.extents() == ids.extents(),
          "MoE layer: x has {}, y {}, the plan is for {}", counted(x.extent(0), "row"), y.extent(0),
          counted(ids.extent(0), "token"));
  require_apart("experts", {{"y", y}}, {{"x", x}, {"ids", ids}, {"weight", weights}});
  const RoutingPlan plan = sorted_plan(ids, weights, experts());
  const std::int64_t D = x.extent(1), k = plan.top_k;
  std::vector<float> slot_output(static_cast<std::size_t>(plan.tokens * k * D));  // [T * k, D]
  for (std::int64_t e = 0; e < plan.experts; ++e) {
    const std::int64_t begin = plan.offsets[static_cast<std::size_t>(e)];
    const std::int64_t M = plan.offsets[static_cast<std::size_t>(e) + 1] - begin;
    if (M == 0) continue;
    const int* slot = plan.order.data() + begin;
    std::vector<float> rows(static_cast<std::size_t>(M * D)), result(rows.size());
    for (std::int64_t m = 0; m < M; ++m) {
      std::copy_n(x(slot[m] / k).data(), D, rows.data() + m * D);
    }
    forward_expert(exec, e, View<const float, 2>(rows, {M, D}), View<float, 2>(result, {M, D}));
    for (std::int64_t m = 0; m < M; ++m) {
      std::copy_n(result.data() + m * D, D, slot_output.data() + slot[m] * D);
    }
  }
  for (std::int64_t t = 0; t < plan.tokens; ++t) {  // equation 3
    for (std::int64_t d = 0; d < D; ++d) {
      double sum = 0;
      for (std::int64_t j = 0; j < k; ++j) {
        if (ids(t, j) < 0) continue;
        sum += static_cast<double>(weights(t, j)) *
               static_cast<double>(slot_output[static_cast<std::size_t>((t * k + j) * D + d)]);
      }
      y(t, d) = static_cast<float>(sum);
    }
  }
}

std::int64_t SeparateExperts::expert_workspace(std::int64_t M) const {
  std::int64_t most = 0;
  for (const auto& expert : experts_) most = std::max(most, expert->workspace(M));
  return most;
}

MoeLayer::MoeLayer(std::unique_ptr<Linear> gate, std::unique_ptr<Router> router,
                   std::unique_ptr<ExpertWeights> experts)
    : gate_(std::move(gate)), router_(std::move(router)), experts_(std::move(experts)) {
  require(gate_->outputs() == router_->experts() && gate_->outputs() == experts_->experts(),
          "MoE layer: the gate has {}, the router {}, the layer {}; they must agree",
          counted(gate_->outputs(), "output"), counted(router_->experts(), "expert"),
          experts_->experts());
}

std::int64_t MoeLayer::workspace(std::int64_t T) const {
  const std::int64_t k = router_->top_k();
  return Workspace::bytes_for<float>(T * gate_->outputs()) + Workspace::bytes_for<int>(T * k) +
         Workspace::bytes_for<float>(T * k) +
         std::max({gate_->workspace(T), router_->workspace(T), experts_->workspace(T, k)});
}

void MoeLayer::forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const {
  const Workspace::Scope scope(exec.workspace);
  const std::int64_t T = x.extent(0), E = gate_->outputs(), k = router_->top_k();
  const View<float, 2> logits(exec.workspace.take<float>(T * E).data(), {T, E});
  const View<int, 2> ids(exec.workspace.take<int>(T * k).data(), {T, k});
  const View<float, 2> weights(exec.workspace.take<float>(T * k).data(), {T, k});
  gate_->forward(exec, x, logits);
  router_->choose(exec, logits, ids, weights);
  if (observer_ && is_host(exec.backend())) observer_(sorted_plan(ids, weights, E));
  experts_->forward(exec, x, ids, weights, y);
}

}  // namespace octavo
