#include "03_switch_deepseek_routing/versions.h"

#include "03_switch_deepseek_routing/cpu_versions.h"
#include "03_switch_deepseek_routing/gpu_versions.h"

namespace octavo::switch_routing {

// A topic's versions go from the plain one to the best: the engine picks the last that fits.
void append_versions(Registry& registry) {
  registry.add("grouped_top_k", grouped_top_k_cpu_v1_insertion());
  registry.add("grouped_top_k", on_simt::grouped_top_k_gpu_v1_row());
  registry.add("grouped_top_k", on_simt::grouped_top_k_gpu_v2_registers());
  registry.add("capacity_dispatch", capacity_dispatch_cpu_v1_scan());
  registry.add("capacity_dispatch", on_simt::capacity_dispatch_gpu_v1_block());
  registry.add("capacity_dispatch", on_simt::capacity_dispatch_gpu_v2_chunks());
#ifdef OCTAVO_CUDA
  registry.add("grouped_top_k", on_cuda::grouped_top_k_gpu_v1_row());
  registry.add("grouped_top_k", on_cuda::grouped_top_k_gpu_v2_registers());
  registry.add("capacity_dispatch", on_cuda::capacity_dispatch_gpu_v1_block());
  registry.add("capacity_dispatch", on_cuda::capacity_dispatch_gpu_v2_chunks());
#endif
}

}  // namespace octavo::switch_routing
