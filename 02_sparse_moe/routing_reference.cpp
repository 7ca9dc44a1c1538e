#include <cmath>
#include <limits>

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

void sort_slots(RoutingPlan& plan) {
  plan.counts.assign(static_cast<std::size_t>(plan.experts), 0);
  for (int id : plan.ids) ++plan.counts[static_cast<std::size_t>(id)];
  std::vector<std::int64_t> next(plan.counts.size());
  for (std::size_t e = 1; e < next.size(); ++e) next[e] = next[e - 1] + plan.counts[e - 1];
  plan.order.resize(plan.ids.size());
  for (std::size_t slot = 0; slot < plan.ids.size(); ++slot) {
    const auto place = next[static_cast<std::size_t>(plan.ids[slot])]++;
    plan.order[static_cast<std::size_t>(place)] = static_cast<std::int64_t>(slot);
  }
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
