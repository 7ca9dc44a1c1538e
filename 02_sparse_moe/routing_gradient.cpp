#include "02_sparse_moe/routing_gradient.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/error.h"

namespace octavo {
namespace {

// The softmax of some logits of a row, in double.
std::vector<double> softmax_of(View<const float, 1> z, const std::vector<std::int64_t>& which) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t e : which) largest = std::max(largest, static_cast<double>(z(e)));
  std::vector<double> p;
  for (std::int64_t e : which) {
    p.push_back(std::exp(static_cast<double>(z(e)) - largest));
    sum += p.back();
  }
  for (double& value : p) value /= sum;
  return p;
}

}  // namespace

// A softmax p over a set of logits has dp_i/dz_j = p_i ((i == j) - p_j), so that a loss with
// dL/dp = a has dL/dz_j = p_j (a_j - sum_i a_i p_i). Of the set of all experts only the chosen have
// an a; the set of the chosen alone leaves the others' logits out.
std::vector<double> router_gradient(const RoutingPlan& plan, View<const float, 2> logits,
                                    View<const double, 2> upstream, bool normalized) {
  const std::int64_t E = plan.experts, k = plan.top_k;
  require(logits.extent(0) == plan.tokens && logits.extent(1) == E &&
              upstream.extent(0) == plan.tokens && upstream.extent(1) == k,
          "router gradient: logits [{}, {}] and upstream [{}, {}] do not fit [{}, {}] and k {}",
          logits.extent(0), logits.extent(1), upstream.extent(0), upstream.extent(1), plan.tokens,
          E, k);
  require(std::ssize(plan.ids) == plan.tokens * k &&
              std::ranges::all_of(plan.ids, [E](int id) { return id >= -1 && id < E; }),
          "router gradient: {} ids from -1 to {} are wanted, and there are {}", plan.tokens * k,
          E - 1, plan.ids.size());
  std::vector<double> gradient(static_cast<std::size_t>(plan.tokens * E));
  for (std::int64_t t = 0; t < plan.tokens; ++t) {
    std::vector<std::int64_t> set;
    std::vector<double> a(static_cast<std::size_t>(E));
    for (std::int64_t j = 0; j < k; ++j) {
      if (plan.id()(t, j) < 0) continue;  // no expert, and no weight that a loss could see
      a[static_cast<std::size_t>(plan.id()(t, j))] = upstream(t, j);
      if (normalized) set.push_back(plan.id()(t, j));
    }
    for (std::int64_t e = 0; !normalized && e < E; ++e) set.push_back(e);
    const std::vector<double> p = softmax_of(logits(t), set);
    double mean = 0;
    for (std::size_t i = 0; i < set.size(); ++i) mean += a[static_cast<std::size_t>(set[i])] * p[i];
    for (std::size_t i = 0; i < set.size(); ++i) {
      gradient[static_cast<std::size_t>(t * E + set[i])] =
          p[i] * (a[static_cast<std::size_t>(set[i])] - mean);
    }
  }
  return gradient;
}

}  // namespace octavo
