#pragma once
// Topic "gating": a router's logits become the ids and weights of k experts a token (equations 1
// and 2 of the README), for the routers that use a softmax, in both orders in use.

#include <cstdint>

#include "common/base/view.h"
#include "common/base/work.h"

namespace octavo {

// Which comes first. With `normalize` the two are the same function: the sum over all experts
// cancels.
enum class SoftmaxOrder : std::uint8_t {
  kSoftmaxTopK,  // softmax over all experts, then the top k of it (Mixtral, Qwen, OLMoE)
  kTopKSoftmax,  // the top k of the logits, then a softmax over those (gpt-oss, Granite)
};

// The scores are z = logits + bias, a sum rounded to fp32; the largest z have the largest
// probabilities. A row without a softmax (a NaN, a +inf, all -inf) gets ids 0 .. k-1 and NaN
// weights, and no other row is harmed.
struct GatingArgs {
  View<const float, 2> logits = {};  // [T, E]
  View<const float, 1> bias = {};    // [E]; empty: none
  SoftmaxOrder order = SoftmaxOrder::kSoftmaxTopK;
  bool normalize = true;        // kSoftmaxTopK's weights divided by their sum
  View<int, 2> ids = {};        // [T, k] distinct, descending score, ties to the lower id
  View<float, 2> weights = {};  // [T, k]

  std::int64_t rows() const { return logits.extent(0); }     // T
  std::int64_t experts() const { return logits.extent(1); }  // E
  std::int64_t top_k() const { return ids.extent(1); }       // k
};

// Throws Error when the extents do not fit each other, k is not from 1 to E, or ids or weights lie
// over another operand.
void check_shapes(const GatingArgs& args);

// The least a gate must do: read the logits, an exponential each, write ids and weights.
Work gating_work(std::int64_t T, std::int64_t E, std::int64_t top_k);

// Equations 1 and 2 in double.
void gating_reference(const GatingArgs& args);

}  // namespace octavo
