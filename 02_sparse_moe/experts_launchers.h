#pragma once
// The last kernel of every version of "experts": y_t = sum_j weight_tj slot_y[t k + j], j
// ascending.

#include <vector>

#include "02_sparse_moe/experts.h"
#include "common/device/launch_config.h"
#include "common/simt/backend.h"

namespace octavo::sparse_moe {

// clang-format off
SIMT_ON_BOTH_BACKENDS(
  LaunchConfig combine_launch(const ExpertsArgs& shape);  // for T > 0
  void combine(Exec&, const ExpertsArgs&, const float* slot_y);
)
// clang-format on

}  // namespace octavo::sparse_moe
