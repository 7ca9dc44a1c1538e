#pragma once
// The quick host versions of this chapter, one .cpp file each.

#include "01_dense_ffn/ffn.h"
#include "01_dense_ffn/matmul.h"
#include "common/device/version.h"

namespace octavo::dense_ffn {

Version<MatmulArgs> matmul_cpu_v1_eigen();
Version<MatmulArgs> matmul_cpu_v2_packed();
Version<FfnArgs> ffn_cpu_v1_packed();

}  // namespace octavo::dense_ffn
