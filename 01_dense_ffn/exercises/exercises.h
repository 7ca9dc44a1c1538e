#pragma once
// What the files of the exercises define, one function each; the judges run it on the executor.

#include "01_dense_ffn/matmul.h"
#include "common/base/view.h"
#include "common/device/version.h"
#include "common/simt/backend.h"

namespace octavo::dense_ffn {

struct SquaredReluArgs {
  View<const float, 1> x;  // [n]
  View<float, 1> y;        // [n]
};

// clang-format off
SIMT_ON_BOTH_BACKENDS(
  Version<MatmulArgs> exercise_tiled();
  Version<SquaredReluArgs> exercise_activation_tail();
)
// clang-format on

}  // namespace octavo::dense_ffn
