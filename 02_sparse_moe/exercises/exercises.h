#pragma once
// What the files of the exercises define, one function each; the judges run it on the executor.

#include "02_sparse_moe/align.h"
#include "02_sparse_moe/gating.h"
#include "common/device/version.h"
#include "common/simt/backend.h"

namespace octavo::sparse_moe {

// clang-format off
SIMT_ON_BOTH_BACKENDS(
  Version<GatingArgs> exercise_choice();
  Version<AlignArgs> exercise_stable();
)
// clang-format on

}  // namespace octavo::sparse_moe
