#pragma once
// This chapter's topics for the contract suite and the benchmarks.

#include "03_switch_deepseek_routing/capacity_dispatch.h"
#include "03_switch_deepseek_routing/grouped_top_k.h"
#include "common/testing/topic.h"

namespace octavo::switch_routing {

struct GateShape {
  std::int64_t T;
  DeepseekRouting routing;
  bool bias = true;
};
testing::Topic<GateShape, GroupedTopKArgs> grouped_top_k_topic();

// DeepSeek-V3's: 256 experts in 8 groups, 8 of 4 groups.
GateShape deepseek_v3_gate(std::int64_t T);
// DeepSeek-V2's: 160 experts in 8 groups, 6 of 3 groups.
GateShape deepseek_v2_gate(std::int64_t T);

struct DispatchShape {
  std::int64_t T, E, k, C;
};
testing::Topic<DispatchShape, CapacityDispatchArgs> capacity_dispatch_topic();

}  // namespace octavo::switch_routing
