#pragma once
// The host's versions, one .cpp file each.

#include "03_switch_deepseek_routing/capacity_dispatch.h"
#include "03_switch_deepseek_routing/grouped_top_k.h"
#include "common/device/version.h"

namespace octavo::switch_routing {

Version<GroupedTopKArgs> grouped_top_k_cpu_v1_insertion();
Version<CapacityDispatchArgs> capacity_dispatch_cpu_v1_scan();

}  // namespace octavo::switch_routing
