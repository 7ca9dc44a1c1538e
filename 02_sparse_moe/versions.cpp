#include "02_sparse_moe/versions.h"

#include "02_sparse_moe/cpu_versions.h"
#include "02_sparse_moe/gpu_versions.h"

namespace octavo::sparse_moe {

// A topic's versions go from the plain one to the best: the engine picks the last that fits.
void append_versions(Registry& registry) {
  registry.add("gating", gating_cpu_v1_select());
  registry.add("align", align_cpu_v1_count());
  registry.add("experts", experts_cpu_v1_grouped());
  registry.add("gating", on_simt::gating_gpu_v1_warp());
  registry.add("gating", on_simt::gating_gpu_v2_rows());
  registry.add("align", on_simt::align_gpu_v1_block());
  registry.add("align", on_simt::align_gpu_v2_chunks());
  registry.add("experts", on_simt::experts_gpu_v1_loop());
  registry.add("experts", on_simt::experts_gpu_v2_padded());
  registry.add("experts", on_simt::experts_gpu_v3_tiles());
  registry.add("experts", on_simt::experts_gpu_v4_decode());
#ifdef OCTAVO_CUDA
  registry.add("gating", on_cuda::gating_gpu_v1_warp());
  registry.add("gating", on_cuda::gating_gpu_v2_rows());
  registry.add("align", on_cuda::align_gpu_v1_block());
  registry.add("align", on_cuda::align_gpu_v2_chunks());
  registry.add("experts", on_cuda::experts_gpu_v1_loop());
  registry.add("experts", on_cuda::experts_gpu_v2_padded());
  registry.add("experts", on_cuda::experts_gpu_v3_tiles());
  registry.add("experts", on_cuda::experts_gpu_v4_decode());
#endif
}

}  // namespace octavo::sparse_moe
