#pragma once
// Which experts a token goes to, and with what weights.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/view.h"

namespace octavo {

// The plan of one MoE layer for T tokens and k experts a token. A slot is one (token, choice) pair:
// slot = t * k + j.
struct RoutingPlan {
  std::int64_t tokens = 0;   // T
  std::int64_t experts = 0;  // E
  std::int64_t top_k = 0;    // k
  // [T, k] distinct experts of a token, in descending score; ties to the lower id
  std::vector<int> ids = {};
  std::vector<float> weights = {};        // [T, k] what each expert's output is multiplied by
  std::vector<std::int64_t> counts = {};  // [E] slots of each expert; they sum to T * k
  std::vector<std::int64_t> order = {};   // [T * k] slots by expert, ascending inside an expert

  View<const int, 2> id() const { return {ids.data(), {tokens, top_k}}; }
  View<const float, 2> weight() const { return {weights.data(), {tokens, top_k}}; }
};

// From router logits to a plan. Each row is routed by itself: a token's experts do not depend on
// its neighbours.
class Router {
 public:
  virtual ~Router() = default;
  virtual std::int64_t experts() const = 0;
  // logits [T, E]. A row without a softmax (a NaN, a +inf, all -inf) gets k distinct ids all the
  // same, the lowest, and NaN weights: its output is NaN, so that nobody takes it for a result, and
  // no other row is harmed.
  virtual RoutingPlan route(View<const float, 2> logits) const = 0;
};

// softmax over all experts, top k, weights renormalised to sum 1 if `normalize` (Mixtral: yes;
// OLMoE, Qwen2-MoE: no). Equations 1 and 2 of the README.
class SoftmaxTopKRouter : public Router {
 public:
  // Wants 1 <= top_k <= experts.
  SoftmaxTopKRouter(std::int64_t experts, std::int64_t top_k, bool normalize);
  std::int64_t experts() const override { return experts_; }
  RoutingPlan route(View<const float, 2> logits) const override;

 private:
  std::int64_t experts_, top_k_;
  bool normalize_;
};

// The k best of the scores in descending order; ties to the lower id, NaN below everything. The ids
// are distinct even when every score is -inf or NaN. Wants k <= scores.size().
void select_top_k(std::span<const double> scores, std::int64_t k, int* ids);

// Fills counts and order of a plan from its ids: a stable counting sort of the slots by expert.
void sort_slots(RoutingPlan& plan);

}  // namespace octavo
