#include "02_sparse_moe/noisy_top_k.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "common/base/error.h"

namespace octavo {
namespace {

// The distribution function of the standard normal.
double normal_cdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

// One row: H, the noisy logits, and the deviation of each one's noise.
struct NoisyRow {
  std::vector<double> clean, spread, noisy;
};

NoisyRow noisy_row(const NoisyLogits& logits, std::int64_t t) {
  NoisyRow row;
  for (std::int64_t e = 0; e < logits.clean.extent(1); ++e) {  // equation 6
    row.clean.push_back(static_cast<double>(logits.clean(t, e)));
    row.spread.push_back(softplus(static_cast<double>(logits.spread(t, e))));
    row.noisy.push_back(row.clean.back() +
                        static_cast<double>(logits.normal(t, e)) * row.spread.back());
  }
  return row;
}

// Whether scores have a softmax: no NaN, no +inf, and one that is not -inf.
bool has_softmax(std::span<const double> scores) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return std::ranges::all_of(scores, [](double z) { return z < kInf; }) &&
         std::ranges::any_of(scores, [](double z) { return z > -kInf; });
}

// Chooses of the scores of row t and sets the softmax of the chosen. A row without one gets what
// every router gives it: the lowest ids, and NaN.
void choose_row(RoutingPlan& plan, std::int64_t t, std::span<const double> scores) {
  int* const ids = plan.ids.data() + t * plan.top_k;
  float* const weights = plan.weights.data() + t * plan.top_k;
  if (!has_softmax(scores)) {
    std::iota(ids, ids + plan.top_k, 0);
    std::fill_n(weights, plan.top_k, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  select_top_k(scores, plan.top_k, ids);
  const double largest = scores[static_cast<std::size_t>(ids[0])];
  double sum = 0;
  for (std::int64_t j = 0; j < plan.top_k; ++j) {
    sum += std::exp(scores[static_cast<std::size_t>(ids[j])] - largest);
  }
  for (std::int64_t j = 0; j < plan.top_k; ++j) {
    weights[j] =
        static_cast<float>(std::exp(scores[static_cast<std::size_t>(ids[j])] - largest) / sum);
  }
}

RoutingPlan empty_plan(std::int64_t T, std::int64_t E, std::int64_t k) {
  require(k >= 1 && k <= E, "noisy top-k: k is {}, must be from 1 to {} (experts)", k, E);
  RoutingPlan plan{.tokens = T, .experts = E, .top_k = k};
  plan.ids.resize(static_cast<std::size_t>(T * k));
  plan.weights.resize(plan.ids.size());
  return plan;
}

// Sorts the plan's slots and sums its weights by expert.
NoisyGates finished(RoutingPlan plan) {
  sort_slots(plan);
  NoisyGates gates{.plan = std::move(plan)};
  gates.importance.assign(static_cast<std::size_t>(gates.plan.experts), 0);
  for (std::size_t s = 0; s < gates.plan.ids.size(); ++s) {
    gates.importance[static_cast<std::size_t>(gates.plan.ids[s])] +=
        static_cast<double>(gates.plan.weights[s]);
  }
  return gates;
}

// Equation 7: adds the probability that each expert of the row is chosen when its noise alone is
// drawn again. Its rivals keep theirs: it must beat the k-th best of them, which is the (k+1)-th of
// all for an expert that was chosen and the k-th for one that was not. Where no draw can change the
// choice, without a spread or from a clean logit of -inf, it is the choice.
void add_load(const NoisyRow& row, std::span<const int> ids, std::vector<double>& load) {
  const auto k = static_cast<std::ptrdiff_t>(ids.size());
  std::vector<double> sorted(row.noisy);
  std::partial_sort(sorted.begin(), sorted.begin() + k + 1, sorted.end(), std::greater<>());
  for (std::size_t e = 0; e < row.noisy.size(); ++e) {
    const bool chosen = std::ranges::count(ids, static_cast<int>(e)) > 0;
    const double threshold = sorted[static_cast<std::size_t>(chosen ? k : k - 1)];
    const bool drawn = row.spread[e] > 0 && std::isfinite(row.clean[e]);
    load[e] += drawn ? normal_cdf((row.clean[e] - threshold) / row.spread[e])
                     : static_cast<double>(chosen);
  }
}

std::vector<double> counted(const RoutingPlan& plan) {
  const std::vector<std::int64_t> counts = plan.counts();
  return {counts.begin(), counts.end()};
}

}  // namespace

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

double cv_squared(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, variance = 0;
  for (double v : values) mean += v / n;
  for (double v : values) variance += (v - mean) * (v - mean) / n;
  return variance / (mean * mean + 1e-10);
}

NoisyGates noisy_top_k(const NoisyLogits& logits, std::int64_t k) {
  const std::int64_t T = logits.clean.extent(0), E = logits.clean.extent(1);
  require(logits.spread.extents() == logits.clean.extents() &&
              logits.normal.extents() == logits.clean.extents(),
          "noisy top-k: logits [{}, {}], but spreads [{}, {}] and draws [{}, {}]", T, E,
          logits.spread.extent(0), logits.spread.extent(1), logits.normal.extent(0),
          logits.normal.extent(1));
  RoutingPlan plan = empty_plan(T, E, k);
  std::vector<double> load(static_cast<std::size_t>(E));
  for (std::int64_t t = 0; t < T; ++t) {
    const NoisyRow row = noisy_row(logits, t);
    choose_row(plan, t, row.noisy);
    if (!has_softmax(row.noisy)) {
      for (double& sum : load) sum = std::numeric_limits<double>::quiet_NaN();
    } else if (k < E) {
      add_load(row, {plan.ids.data() + t * k, static_cast<std::size_t>(k)}, load);
    }
  }
  NoisyGates gates = finished(std::move(plan));
  gates.load = k < E ? load : counted(gates.plan);
  return gates;
}

NoisyGates noiseless_top_k(View<const float, 2> clean, std::int64_t k) {
  RoutingPlan plan = empty_plan(clean.extent(0), clean.extent(1), k);
  for (std::int64_t t = 0; t < plan.tokens; ++t) {
    const View<const float, 1> z = clean(t);
    choose_row(plan, t, std::vector<double>(z.data(), z.data() + z.size()));
  }
  NoisyGates gates = finished(std::move(plan));
  gates.load = counted(gates.plan);
  return gates;
}

}  // namespace octavo
