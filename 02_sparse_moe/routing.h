#pragma once
// Which experts a token goes to, and with what weights.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "02_sparse_moe/gating.h"
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

// What a softmax router computes; equations 1 and 2 of the README.
struct SoftmaxRouting {
  std::int64_t experts = 0;  // E
  std::int64_t top_k = 0;    // k
  SoftmaxOrder order = SoftmaxOrder::kSoftmaxTopK;
  bool normalize = false;        // kSoftmaxTopK's weights divided by their sum
  std::vector<float> bias = {};  // [E], added to the logits; empty: none
};

// The routers of published models. A checkpoint was trained with one; another of them gives a
// model that still speaks, only worse.
struct SoftmaxRecipe {
  const char* models;
  SoftmaxOrder order;
  bool normalize, bias;
};
inline constexpr SoftmaxRecipe kSoftmaxRecipes[] = {
    {"Mixtral, Qwen3-MoE", SoftmaxOrder::kSoftmaxTopK, true, false},
    {"OLMoE, Qwen1.5-MoE, Qwen2-MoE", SoftmaxOrder::kSoftmaxTopK, false, false},
    {"Granite-MoE, JetMoE", SoftmaxOrder::kTopKSoftmax, false, false},
    {"gpt-oss", SoftmaxOrder::kTopKSoftmax, false, true},
};

class SoftmaxTopKRouter : public Router {
 public:
  // Wants 1 <= top_k <= experts, and no bias or one an expert.
  explicit SoftmaxTopKRouter(SoftmaxRouting routing);
  SoftmaxTopKRouter(std::int64_t experts, std::int64_t top_k, bool normalize)
      : SoftmaxTopKRouter({.experts = experts, .top_k = top_k, .normalize = normalize}) {}
  std::int64_t experts() const override { return routing_.experts; }
  std::int64_t top_k() const override { return routing_.top_k; }
  RoutingPlan route(View<const float, 2> logits) const override;

 protected:
  // The arguments of topic "gating", the bias on the host.
  GatingArgs args(View<const float, 2> logits, View<int, 2> ids, View<float, 2> weights) const;

 private:
  SoftmaxRouting routing_;
};

// The k best of the scores in descending order; ties to the lower id, NaN below everything. The ids
// are distinct even when every score is -inf or NaN. Wants k <= scores.size().
void select_top_k(std::span<const double> scores, std::int64_t k, int* ids);

// Fills offsets and order of a plan from its ids: a stable counting sort of the slots by expert.
// Throws Error for an id that is no expert and not -1, and for 2^31 slots or more.
void sort_slots(RoutingPlan& plan);

}  // namespace octavo
