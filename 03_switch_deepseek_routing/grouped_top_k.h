#pragma once
// Topic "grouped_top_k": DeepSeek's gates in one operation, logits -> ids and weights. Equations 8
// to 11 of the README: score, bias, groups, k best, normalise, scale.

#include "03_switch_deepseek_routing/deepseek_routing.h"
#include "common/base/view.h"
#include "common/base/work.h"

namespace octavo::switch_routing {

struct GroupedTopKArgs {
  View<const float, 2> logits = {};  // [T, E], any T >= 0
  View<const float, 1> bias = {};    // [E], finite: selects and does not weigh; empty: none
  DeepseekRouting routing = {};
  View<int, 2> ids = {};        // [T, k] descending biased score, ties to the lower id
  View<float, 2> weights = {};  // [T, k]

  std::int64_t rows() const { return logits.extent(0); }
};

// Throws Error when the extents do not fit each other or the routing, or when ids or weights lie
// over another operand.
void check_shapes(const GroupedTopKArgs& args);

// A score, a bias and a comparison for each logit; logits in, ids and weights out.
Work grouped_top_k_work(std::int64_t T, std::int64_t E, std::int64_t k);

// The equations in double.
void grouped_top_k_reference(const GroupedTopKArgs& args);

}  // namespace octavo::switch_routing
