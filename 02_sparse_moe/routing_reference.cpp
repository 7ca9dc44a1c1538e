#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "02_sparse_moe/routing.h"
#include "common/base/counted.h"
#include "common/base/error.h"

namespace octavo {
// A chosen expert is excluded by a mark and not by overwriting its score, so that k distinct ids
// come out even when every score is -inf.
void select_top_k(std::span<const double> scores, std::int64_t k, int* ids) {
  std::vector<bool> chosen(scores.size());
  const auto key = [&](std::size_t e) {
    return std::isnan(scores[e]) ? -std::numeric_limits<double>::infinity() : scores[e];
  };
  for (std::int64_t j = 0; j < k; ++j) {
    std::size_t best = scores.size();
    for (std::size_t e = 0; e < scores.size(); ++e) {
      if (!chosen[e] && (best == scores.size() || key(e) > key(best))) best = e;
    }
    chosen[best] = true;
    ids[j] = static_cast<int>(best);
  }
}

std::vector<std::int64_t> RoutingPlan::counts() const {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(experts));
  for (std::size_t e = 0; e < counts.size(); ++e) counts[e] = offsets[e + 1] - offsets[e];
  return counts;
}

void sort_slots(RoutingPlan& plan) {
  require(plan.ids.size() <= std::size_t{std::numeric_limits<int>::max()},
          "routing plan: {} slots, at most 2^31 - 1", plan.ids.size());
  plan.offsets.assign(static_cast<std::size_t>(plan.experts) + 1, 0);
  for (int id : plan.ids) {
    require(id >= -1 && id < plan.experts, "routing plan: id {}, must be from -1 to {}", id,
            plan.experts - 1);
    if (id >= 0) ++plan.offsets[static_cast<std::size_t>(id) + 1];
  }
  std::partial_sum(plan.offsets.begin(), plan.offsets.end(), plan.offsets.begin());
  std::vector<int> next(plan.offsets);
  plan.order.assign(plan.ids.size(), -1);
  for (std::size_t slot = 0; slot < plan.ids.size(); ++slot) {
    if (plan.ids[slot] < 0) continue;
    const int place = next[static_cast<std::size_t>(plan.ids[slot])]++;
    plan.order[static_cast<std::size_t>(place)] = static_cast<int>(slot);
  }
}

void Router::choose(Exec& exec, View<const float, 2> logits, View<int, 2> ids,
                    View<float, 2> weights) const {
  require(is_host(exec.backend()), "this router runs on the host, not on {}",
          name_of(exec.backend()));
  const View<const float, 2>::Extents shape = {logits.extent(0), top_k()};
  require(ids.extents() == shape && weights.extents() == shape,
          "router: ids [{}, {}] and weights [{}, {}] for {} tokens and {} choices", ids.extent(0),
          ids.extent(1), weights.extent(0), weights.extent(1), shape[0], shape[1]);
  const RoutingPlan plan = route(logits);
  std::copy(plan.ids.begin(), plan.ids.end(), ids.data());
  std::copy(plan.weights.begin(), plan.weights.end(), weights.data());
}

SoftmaxTopKRouter::SoftmaxTopKRouter(SoftmaxRouting routing) : routing_(std::move(routing)) {
  const auto& [experts, top_k, order, normalize, bias] = routing_;
  require(top_k >= 1 && top_k <= experts, "router: top_k is {}, must be from 1 to {} (experts)",
          top_k, experts);
  require(bias.empty() || std::ssize(bias) == experts, "router: {} for {}",
          counted(bias.size(), "bias", "biases"), counted(experts, "expert"));
}

GatingArgs SoftmaxTopKRouter::args(View<const float, 2> logits, View<int, 2> ids,
                                   View<float, 2> weights) const {
  require(logits.extent(1) == experts(), "router: {} a token, must be {} (experts)",
          counted(logits.extent(1), "logit"), experts());
  return {.logits = logits,
          .bias = {routing_.bias.data(), {std::ssize(routing_.bias)}},
          .order = routing_.order,
          .normalize = routing_.normalize,
          .ids = ids,
          .weights = weights};
}

RoutingPlan SoftmaxTopKRouter::route(View<const float, 2> logits) const {
  RoutingPlan plan{.tokens = logits.extent(0), .experts = experts(), .top_k = top_k()};
  plan.ids.resize(static_cast<std::size_t>(plan.tokens * plan.top_k));
  plan.weights.resize(plan.ids.size());
  gating_reference(args(logits, View<int, 2>(plan.ids, {plan.tokens, plan.top_k}),
                        View<float, 2>(plan.weights, {plan.tokens, plan.top_k})));
  sort_slots(plan);
  return plan;
}

}  // namespace octavo
