#pragma once
// The kernels of this chapter, one .cu file each, as versions. on_simt's run on the executor,
// on_cuda's on a GPU.

#include "03_switch_deepseek_routing/capacity_dispatch.h"
#include "03_switch_deepseek_routing/grouped_top_k.h"
#include "common/device/version.h"
#include "common/simt/backend.h"

namespace octavo::switch_routing {

// clang-format off
SIMT_ON_BOTH_BACKENDS(
  Version<GroupedTopKArgs> grouped_top_k_gpu_v1_row();
  Version<GroupedTopKArgs> grouped_top_k_gpu_v2_registers();
  Version<CapacityDispatchArgs> capacity_dispatch_gpu_v1_block();
  Version<CapacityDispatchArgs> capacity_dispatch_gpu_v2_chunks();
)
// clang-format on

}  // namespace octavo::switch_routing
