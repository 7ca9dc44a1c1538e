#include "03_switch_deepseek_routing/deepseek_routing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "03_switch_deepseek_routing/grouped_top_k.h"
#include "common/base/counted.h"
#include "common/base/error.h"

namespace octavo {

void check(const DeepseekRouting& r) {
  require(r.experts >= 1 && r.groups >= 1 && r.experts % r.groups == 0,
          "router: {} in {}; the groups must divide the experts", counted(r.experts, "expert"),
          counted(r.groups, "group"));
  const std::int64_t in_group = r.experts / r.groups;
  require(r.groups == 1 || r.group_score == GroupScore::kBest || in_group >= 2,
          "router: {} of one expert; a group is scored by its best two",
          counted(r.groups, "group"));
  require(r.top_groups >= 1 && r.top_groups <= r.groups,
          "router: top_groups is {}, must be from 1 to {} (groups)", r.top_groups, r.groups);
  require(r.top_k >= 1 && r.top_k <= r.top_groups * in_group,
          "router: top_k is {}, must be from 1 to {} (experts of {})", r.top_k,
          r.top_groups * in_group, counted(r.top_groups, "group"));
}

DeepseekRouter::DeepseekRouter(const DeepseekRouting& routing, std::vector<float> bias)
    : r_(routing), bias_(std::move(bias)) {
  check(r_);
  require(bias_.empty() || std::ssize(bias_) == r_.experts, "router: {} for {}",
          counted(bias_.size(), "selection bias", "selection biases"),
          counted(r_.experts, "expert"));
  require(std::ranges::all_of(bias_, [](float b) { return std::isfinite(b); }),
          "router: a selection bias is not finite");
}

RoutingPlan DeepseekRouter::route(View<const float, 2> logits) const {
  RoutingPlan plan{.tokens = logits.extent(0), .experts = r_.experts, .top_k = r_.top_k};
  plan.ids.resize(static_cast<std::size_t>(plan.tokens * r_.top_k));
  plan.weights.resize(plan.ids.size());
  switch_routing::grouped_top_k_reference(
      {.logits = logits,
       .bias = {bias_.data(), {std::ssize(bias_)}},
       .routing = r_,
       .ids = {plan.ids.data(), {plan.tokens, r_.top_k}},
       .weights = {plan.weights.data(), {plan.tokens, r_.top_k}}});
  sort_slots(plan);
  return plan;
}

void update_bias(View<float, 1> bias, const std::vector<std::int64_t>& load, float gamma) {
  require(bias.extent(0) == std::ssize(load), "bias update: {} biases, {} loads", bias.extent(0),
          load.size());
  const std::int64_t most = INT64_MAX / std::max<std::int64_t>(1, bias.extent(0));
  require(std::ranges::all_of(load, [=](std::int64_t n) { return n >= 0 && n <= most; }),
          "bias update: a load is not from 0 to {}", most);
  const std::int64_t total = std::accumulate(load.begin(), load.end(), std::int64_t{0});
  for (std::int64_t e = 0; e < bias.extent(0); ++e) {
    const std::int64_t times_E = load[static_cast<std::size_t>(e)] * bias.extent(0);
    bias(e) += gamma * static_cast<float>((times_E < total) - (times_E > total));
  }
}

}  // namespace octavo
