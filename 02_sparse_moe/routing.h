#pragma once
// Which experts a token goes to, and with what weights.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/view.h"
#include "common/device/exec.h"

namespace octavo {

// The plan of one MoE layer for T tokens and k experts a token. A slot is one (token, choice) pair:
// slot = t * k + j.
struct RoutingPlan {
  std::int64_t tokens = 0;   // T
  std::int64_t experts = 0;  // E
  std::int64_t top_k = 0;    // k
  // [T, k] distinct experts of a token, in descending score, ties to the lower id; -1 for a slot
  // that has no expert and adds nothing
  std::vector<int> ids = {};
  std::vector<float> weights = {};  // [T, k] what each expert's output is multiplied by
  // [E + 1] expert e has the slots order[offsets[e]] .. order[offsets[e + 1] - 1]; the last is the
  // number of slots that have an expert
  std::vector<int> offsets = {};
  // [T * k] slots by expert, ascending inside an expert; behind the last one -1
  std::vector<int> order = {};

  View<const int, 2> id() const { return {ids.data(), {tokens, top_k}}; }
  View<const float, 2> weight() const { return {weights.data(), {tokens, top_k}}; }
  std::vector<std::int64_t> counts() const;  // [E] slots of each expert
};

// From router logits to a plan. Each row is routed by itself: a token's experts do not depend on
// its neighbours.
class Router {
 public:
  virtual ~Router() = default;
  virtual std::int64_t experts() const = 0;
  virtual std::int64_t top_k() const = 0;
  // logits [T, E]. A row without a softmax (a NaN, a +inf, all -inf) gets k distinct ids all the
  // same, the lowest, and NaN weights: its output is NaN, so that nobody takes it for a result, and
  // no other row is harmed.
  virtual RoutingPlan route(View<const float, 2> logits) const = 0;

  // The same choice on the Exec's device, without the plan's sort: logits [T, E] -> ids and weights
  // [T, k]. Here: by `route`, for devices whose memory is the host's; a router with a kernel
  // overrides both.
  virtual std::int64_t workspace(std::int64_t) const { return 0; }  // bytes, for up to T rows
  virtual void choose(Exec& exec, View<const float, 2> logits, View<int, 2> ids,
                      View<float, 2> weights) const;
};

// softmax over all experts, top k, weights renormalised to sum 1 if `normalize` (Mixtral: yes;
// OLMoE, Qwen2-MoE: no). Equations 1 and 2 of the README.
class SoftmaxTopKRouter : public Router {
 public:
  // Wants 1 <= top_k <= experts.
  SoftmaxTopKRouter(std::int64_t experts, std::int64_t top_k, bool normalize);
  std::int64_t experts() const override { return experts_; }
  std::int64_t top_k() const override { return top_k_; }
  RoutingPlan route(View<const float, 2> logits) const override;

 private:
  std::int64_t experts_, top_k_;
  bool normalize_;
};

// The k best of the scores in descending order; ties to the lower id, NaN below everything. The ids
// are distinct even when every score is -inf or NaN. Wants k <= scores.size().
void select_top_k(std::span<const double> scores, std::int64_t k, int* ids);

// Fills offsets and order of a plan from its ids: a stable counting sort of the slots by expert.
// Throws Error for an id that is no expert and not -1, and for 2^31 slots or more.
void sort_slots(RoutingPlan& plan);

}  // namespace octavo
