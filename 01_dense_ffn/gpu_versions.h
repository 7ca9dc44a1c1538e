#pragma once
// The kernels of this chapter, one .cu file each, as versions. on_simt's run on the executor,
// on_cuda's on a GPU.

#include "01_dense_ffn/cast.h"
#include "01_dense_ffn/ffn.h"
#include "01_dense_ffn/matmul.h"
#include "common/device/version.h"
#include "common/simt/backend.h"

namespace octavo::dense_ffn {

// clang-format off
SIMT_ON_BOTH_BACKENDS(
  Version<MatmulArgs> matmul_gpu_v1_naive();
  Version<MatmulArgs> matmul_gpu_v2_tiled();
  Version<MatmulArgs> matmul_gpu_v3_registers();
  Version<MatmulArgs> matmul_gpu_v4_mma();
  Version<MatmulArgs> matmul_gpu_v5_decode();
  Version<FfnArgs> ffn_gpu_v1_unfused();
  Version<FfnArgs> ffn_gpu_v2_mma();
  Version<FfnArgs> ffn_gpu_v3_decode();
  Version<CastArgs> cast_gpu_v1_vector();
)
// clang-format on

}  // namespace octavo::dense_ffn
