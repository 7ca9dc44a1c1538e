#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "03_switch_deepseek_routing/grouped_top_k.h"
#include "03_switch_deepseek_routing/probabilities.h"
#include "common/base/error.h"
#include "common/device/overlap.h"

namespace octavo::switch_routing {
namespace {

// What a sum of weights is divided by is kept from 0 by this much; the released models were trained
// and are run with it.
constexpr double kTiny = 1e-20;

// Equation 9: a group's score is the sum of its two best biased scores, or its best. The groups
// that are not among the best get -inf, not 0: where all biased scores are negative, 0 would win.
void mask_groups(std::vector<double>& b, const DeepseekRouting& r) {
  const auto size = static_cast<std::ptrdiff_t>(b.size()) / r.groups;
  std::vector<double> score;
  for (std::ptrdiff_t g = 0; g < r.groups; ++g) {
    std::vector<double> best(b.begin() + g * size, b.begin() + (g + 1) * size);
    std::sort(best.begin(), best.end(), std::greater<>());
    score.push_back(r.group_score == GroupScore::kBest ? best[0] : best[0] + best[1]);
  }
  std::vector<int> order(score.size());
  select_top_k(score, r.groups, order.data());
  for (std::int64_t rank = r.top_groups; rank < r.groups; ++rank) {
    const std::ptrdiff_t g = order[static_cast<std::size_t>(rank)];
    std::fill(b.begin() + g * size, b.begin() + (g + 1) * size,
              -std::numeric_limits<double>::infinity());
  }
}

void route_row(const GroupedTopKArgs& a, std::int64_t t) {
  const DeepseekRouting& r = a.routing;
  int* const ids = a.ids.data() + t * r.top_k;
  float* const weights = a.weights.data() + t * r.top_k;
  const std::vector<double> s =  // equation 8
      r.score == GateScore::kSoftmax ? softmax(a.logits(t)) : sigmoid(a.logits(t));
  if (std::ranges::any_of(s, [](double score) { return std::isnan(score); })) {
    std::iota(ids, ids + r.top_k, 0);
    std::fill_n(weights, r.top_k, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  std::vector<double> b = s;
  for (std::int64_t e = 0; e < a.bias.extent(0); ++e) {
    b[static_cast<std::size_t>(e)] += static_cast<double>(a.bias(e));
  }
  if (r.top_groups < r.groups) mask_groups(b, r);  // equation 9
  select_top_k(b, r.top_k, ids);                   // equation 10
  double sum = 0;
  for (std::int64_t j = 0; j < r.top_k; ++j) sum += s[static_cast<std::size_t>(ids[j])];
  for (std::int64_t j = 0; j < r.top_k; ++j) {  // equation 11: s and not b
    const double w = s[static_cast<std::size_t>(ids[j])] / (r.normalize ? sum + kTiny : 1.0);
    weights[j] = static_cast<float>(w * r.scaling);
  }
}

}  // namespace

void check_shapes(const GroupedTopKArgs& a) {
  check(a.routing);
  const std::int64_t E = a.routing.experts, k = a.routing.top_k, T = a.rows();
  require(a.logits.extent(1) == E, "router: {} logits a token, must be {} (experts)",
          a.logits.extent(1), E);
  require(a.bias.extent(0) == 0 || a.bias.extent(0) == E,
          "router: {} selection biases for {} experts", a.bias.extent(0), E);
  require(a.ids.extent(0) == T && a.ids.extent(1) == k && a.weights.extents() == a.ids.extents(),
          "router: ids [{}, {}] and weights [{}, {}] for {} tokens and {} choices", a.ids.extent(0),
          a.ids.extent(1), a.weights.extent(0), a.weights.extent(1), T, k);
  require_apart("router", {{"ids", a.ids}, {"weights", a.weights}},
                {{"logits", a.logits}, {"bias", a.bias}});
}

Work grouped_top_k_work(std::int64_t T, std::int64_t E, std::int64_t k) {
  const auto logits = static_cast<double>(T * E);
  return {.flops = 4 * logits, .bytes = 4 * logits + 8 * static_cast<double>(T * k)};
}

void grouped_top_k_reference(const GroupedTopKArgs& args) {
  check_shapes(args);
  for (std::int64_t t = 0; t < args.rows(); ++t) route_row(args, t);
}

}  // namespace octavo::switch_routing
