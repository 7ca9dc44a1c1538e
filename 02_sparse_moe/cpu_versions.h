#pragma once
// The quick host versions of this chapter, one .cpp file each.

#include "02_sparse_moe/align.h"
#include "02_sparse_moe/experts.h"
#include "02_sparse_moe/gating.h"
#include "common/device/version.h"

namespace octavo::sparse_moe {

Version<GatingArgs> gating_cpu_v1_select();
Version<AlignArgs> align_cpu_v1_count();
Version<ExpertsArgs> experts_cpu_v1_grouped();

}  // namespace octavo::sparse_moe
