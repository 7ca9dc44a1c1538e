#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "03_switch_deepseek_routing/deepseek_routing.h"
#include "common/base/error.h"

namespace octavo {
namespace {

// What a sum of weights is divided by is kept from 0 by this much; the released models were trained
// and are run with it.
constexpr double kTiny = 1e-20;

// Equation 2: a group's score is the sum of its two best biased scores. The groups that are not
// among the best `kept` get -inf, not 0: where all biased scores are negative, 0 would win.
void mask_groups(std::vector<double>& b, std::int64_t groups, std::int64_t kept) {
  const auto size = static_cast<std::ptrdiff_t>(b.size()) / groups;
  std::vector<double> score;
  for (std::ptrdiff_t g = 0; g < groups; ++g) {
    std::vector<double> best(b.begin() + g * size, b.begin() + (g + 1) * size);
    std::partial_sort(best.begin(), best.begin() + 2, best.end(), std::greater<>());
    score.push_back(best[0] + best[1]);
  }
  std::vector<int> order(score.size());
  select_top_k(score, groups, order.data());
  for (std::int64_t rank = kept; rank < groups; ++rank) {
    const std::ptrdiff_t g = order[static_cast<std::size_t>(rank)];
    std::fill(b.begin() + g * size, b.begin() + (g + 1) * size,
              -std::numeric_limits<double>::infinity());
  }
}

}  // namespace

DeepseekRouter::DeepseekRouter(const DeepseekRouting& routing, std::vector<float> bias)
    : r_(routing), bias_(std::move(bias)) {
  require(r_.experts >= 1 && r_.groups >= 1 && r_.experts % r_.groups == 0,
          "router: {} experts in {} groups; the groups must divide the experts", r_.experts,
          r_.groups);
  const std::int64_t in_group = r_.experts / r_.groups;
  require(r_.groups == 1 || in_group >= 2,
          "router: {} groups of one expert; a group is scored by its best two", r_.groups);
  require(r_.top_groups >= 1 && r_.top_groups <= r_.groups,
          "router: top_groups is {}, must be from 1 to {} (groups)", r_.top_groups, r_.groups);
  require(r_.top_k >= 1 && r_.top_k <= r_.top_groups * in_group,
          "router: top_k is {}, must be from 1 to {} (experts of {} groups)", r_.top_k,
          r_.top_groups * in_group, r_.top_groups);
  require(std::ssize(bias_) == r_.experts, "router: {} selection biases for {} experts",
          bias_.size(), r_.experts);
  require(std::ranges::all_of(bias_, [](float b) { return std::isfinite(b); }),
          "router: a selection bias is not finite");
}

void DeepseekRouter::route_row(View<const float, 1> logits, int* ids, float* weights) const {
  const auto E = static_cast<std::size_t>(r_.experts);
  for (std::size_t e = 0; e < E; ++e) {
    if (!std::isnan(logits(static_cast<std::int64_t>(e)))) continue;
    std::iota(ids, ids + r_.top_k, 0);
    std::fill_n(weights, r_.top_k, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  std::vector<double> s(E), b(E);
  for (std::size_t e = 0; e < E; ++e) {  // equation 1
    s[e] = 1.0 / (1.0 + std::exp(-static_cast<double>(logits(static_cast<std::int64_t>(e)))));
    b[e] = s[e] + static_cast<double>(bias_[e]);
  }
  if (r_.top_groups < r_.groups) mask_groups(b, r_.groups, r_.top_groups);  // equation 2
  select_top_k(b, r_.top_k, ids);                                           // equation 3
  double sum = 0;
  for (std::int64_t j = 0; j < r_.top_k; ++j) sum += s[static_cast<std::size_t>(ids[j])];
  for (std::int64_t j = 0; j < r_.top_k; ++j) {  // equation 4: s and not b
    const double w = s[static_cast<std::size_t>(ids[j])] / (r_.normalize ? sum + kTiny : 1.0);
    weights[j] = static_cast<float>(w * r_.scaling);
  }
}

RoutingPlan DeepseekRouter::route(View<const float, 2> logits) const {
  require(logits.extent(1) == r_.experts, "router: {} logits a token, must be {} (experts)",
          logits.extent(1), r_.experts);
  RoutingPlan plan{.tokens = logits.extent(0), .experts = r_.experts, .top_k = r_.top_k};
  plan.ids.resize(static_cast<std::size_t>(plan.tokens * r_.top_k));
  plan.weights.resize(plan.ids.size());
  for (std::int64_t t = 0; t < plan.tokens; ++t) {
    route_row(logits(t), plan.ids.data() + t * r_.top_k, plan.weights.data() + t * r_.top_k);
  }
  sort_slots(plan);
  return plan;
}

}  // namespace octavo
