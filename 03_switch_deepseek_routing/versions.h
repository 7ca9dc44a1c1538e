#pragma once
// Everything this chapter can run: topics "grouped_top_k" (GroupedTopKArgs) and "capacity_dispatch"
// (CapacityDispatchArgs).

#include "common/device/registry.h"

namespace octavo::switch_routing {

void append_versions(Registry& registry);

}  // namespace octavo::switch_routing
