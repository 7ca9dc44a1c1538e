#pragma once
// The kernels of this chapter, one .cu file each, as versions. on_simt's run on the executor,
// on_cuda's on a GPU.

#include "02_sparse_moe/align.h"
#include "02_sparse_moe/experts.h"
#include "02_sparse_moe/gating.h"
#include "common/device/version.h"
#include "common/simt/backend.h"

namespace octavo::sparse_moe {

// clang-format off
SIMT_ON_BOTH_BACKENDS(
  Version<GatingArgs> gating_gpu_v1_warp();
  Version<GatingArgs> gating_gpu_v2_rows();
  Version<AlignArgs> align_gpu_v1_block();
  Version<AlignArgs> align_gpu_v2_chunks();
  Version<ExpertsArgs> experts_gpu_v1_loop();
  Version<ExpertsArgs> experts_gpu_v2_padded();
  Version<ExpertsArgs> experts_gpu_v3_tiles();
  Version<ExpertsArgs> experts_gpu_v4_decode();
)
// clang-format on

}  // namespace octavo::sparse_moe
