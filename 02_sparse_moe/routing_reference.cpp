#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "02_sparse_moe/routing.h"
#include "common/base/error.h"

namespace octavo {
namespace {

// Equation 1: p_e = exp(z_e - max z) / sum_i exp(z_i - max z).
std::vector<double> softmax(View<const float, 1> z) {
  std::vector<double> p(static_cast<std::size_t>(z.extent(0)));
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t e = 0; e < z.extent(0); ++e)
    largest = std::max(largest, static_cast<double>(z(e)));
  for (std::size_t e = 0; e < p.size(); ++e) {
    p[e] = std::exp(static_cast<double>(z(static_cast<std::int64_t>(e))) - largest);
    sum += p[e];
  }
  for (double& value : p) value /= sum;
  return p;
}

}  // namespace

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
  const RoutingPlan plan = route(logits);
  std::copy(plan.ids.begin(), plan.ids.end(), ids.data());
  std::copy(plan.weights.begin(), plan.weights.end(), weights.data());
}

SoftmaxTopKRouter::SoftmaxTopKRouter(std::int64_t experts, std::int64_t top_k, bool normalize)
    : experts_(experts), top_k_(top_k), normalize_(normalize) {
  require(top_k >= 1 && top_k <= experts, "router: top_k is {}, must be from 1 to {} (experts)",
          top_k, experts);
}

RoutingPlan SoftmaxTopKRouter::route(View<const float, 2> logits) const {
  require(logits.extent(1) == experts_, "router: {} logits a token, must be {} (experts)",
          logits.extent(1), experts_);
  RoutingPlan plan{.tokens = logits.extent(0), .experts = experts_, .top_k = top_k_};
  plan.ids.resize(static_cast<std::size_t>(plan.tokens * top_k_));
  plan.weights.resize(plan.ids.size());
  for (std::int64_t t = 0; t < plan.tokens; ++t) {
    int* ids = plan.ids.data() + t * top_k_;
    float* weights = plan.weights.data() + t * top_k_;
    const std::vector<double> p = softmax(logits(t));
    select_top_k(p, top_k_, ids);
    double sum = 0;
    for (std::int64_t j = 0; j < top_k_; ++j) sum += p[static_cast<std::size_t>(ids[j])];
    for (std::int64_t j = 0; j < top_k_; ++j) {  // equation 2
      weights[j] =
          static_cast<float>(p[static_cast<std::size_t>(ids[j])] / (normalize_ ? sum : 1.0));
    }
  }
  sort_slots(plan);
  return plan;
}

}  // namespace octavo
