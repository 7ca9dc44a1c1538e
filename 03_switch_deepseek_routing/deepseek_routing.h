#pragma once
// DeepSeek's gates. V3 (DeepSeek-AI 2024, arXiv 2412.19437, section 2.1.2): sigmoid scores, a bias
// that only selects, and experts in groups of which a token uses a few. V2 (arXiv 2405.04434,
// section 2.1.2): softmax scores, no bias, a group is as good as its best expert.

#include <vector>

#include "02_sparse_moe/routing.h"

namespace octavo {

enum class GateScore : std::uint8_t { kSigmoid /* V3 */, kSoftmax /* V2 */ };
enum class GroupScore : std::uint8_t { kBestTwo /* V3: their sum */, kBest /* V2 */ };

struct DeepseekRouting {
  std::int64_t experts = 0;     // E
  std::int64_t top_k = 0;       // k
  std::int64_t groups = 1;      // G; experts g E/G .. (g + 1) E/G - 1 are group g
  std::int64_t top_groups = 1;  // groups that a token may use
  bool normalize = true;        // the k weights are divided by their sum
  double scaling = 1;           // factor on the weights, once, normalised or not
  GateScore score = GateScore::kSigmoid;
  GroupScore group_score = GroupScore::kBestTwo;
};

// Throws Error unless the groups divide E and have at least two experts each where the best two
// count (a single group may have any number), 1 <= top_groups <= groups, and top_groups groups hold
// k experts.
void check(const DeepseekRouting& routing);

// Equations 8 to 11 of the README. A row without scores gets the ids 0 .. k - 1 and NaN weights: a
// row with a NaN, and with softmax also one with +inf or with nothing but -inf. A sigmoid takes
// infinite logits: they are scores of 0 and 1 and nothing is wrong with the row.
class DeepseekRouter : public Router {
 public:
  // bias [E], `e_score_correction_bias` of a checkpoint; wants finite biases. Empty: none.
  explicit DeepseekRouter(const DeepseekRouting& routing, std::vector<float> bias = {});
  std::int64_t experts() const override { return r_.experts; }
  std::int64_t top_k() const override { return r_.top_k; }
  RoutingPlan route(View<const float, 2> logits) const override;

 private:
  DeepseekRouting r_;
  std::vector<float> bias_;
};

// Equation 13, how the bias is trained: after a step each expert's moves by gamma, up if the expert
// had less than the mean load, down if it had more, not at all if it had just that. load [E]: slots
// of each expert over the whole batch, all micro-batches and all devices.
void update_bias(View<float, 1> bias, const std::vector<std::int64_t>& load, float gamma);

}  // namespace octavo
