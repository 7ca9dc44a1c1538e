#pragma once
// What the files of the exercises define, one function each; the judges run it on the executor.

#include "03_switch_deepseek_routing/capacity_dispatch.h"
#include "03_switch_deepseek_routing/grouped_top_k.h"
#include "common/device/version.h"
#include "common/simt/backend.h"

namespace octavo::switch_routing {

// clang-format off
SIMT_ON_BOTH_BACKENDS(
  Version<GroupedTopKArgs> exercise_deepseek_gate();
  Version<CapacityDispatchArgs> exercise_places();
)
// clang-format on

}  // namespace octavo::switch_routing
