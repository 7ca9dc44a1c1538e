#pragma once
// DeepSeek-V3's gate (DeepSeek-AI 2024, arXiv 2412.19437, section 2.1.2): sigmoid scores, a bias
// that only selects, and experts in groups of which a token uses a few.

#include <vector>

#include "02_sparse_moe/routing.h"

namespace octavo {

struct DeepseekRouting {
  std::int64_t experts = 0;     // E
  std::int64_t top_k = 0;       // k
  std::int64_t groups = 1;      // G; experts g E/G .. (g + 1) E/G - 1 are group g
  std::int64_t top_groups = 1;  // groups that a token may use
  bool normalize = true;        // the k weights are divided by their sum
  double scaling = 1;           // factor on the weights, once, normalised or not
};

// Equations 1 to 4 of the README. A row with a NaN logit gets the ids 0 .. k - 1 and NaN weights. A
// sigmoid takes infinite logits: they are scores of 0 and 1 and nothing is wrong with the row.
class DeepseekRouter : public Router {
 public:
  // bias [E], `e_score_correction_bias` of a checkpoint. Wants finite biases, groups that divide E
  // and have at least two experts each (one group may have any number), 1 <= top_groups <= groups,
  // and k experts in top_groups groups.
  DeepseekRouter(const DeepseekRouting& routing, std::vector<float> bias);
  std::int64_t experts() const override { return r_.experts; }
  std::int64_t top_k() const override { return r_.top_k; }
  RoutingPlan route(View<const float, 2> logits) const override;

 private:
  void route_row(View<const float, 1> logits, int* ids, float* weights) const;

  DeepseekRouting r_;
  std::vector<float> bias_;
};

}  // namespace octavo
