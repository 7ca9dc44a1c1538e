#pragma once
// The matmul kernels that versions of "ffn" run too: a feed-forward layer is products with
// something in between, and its last one adds a bias. Each checks shapes and launches what its
// _launches lists. bias [N]; empty: none.

#include <vector>

#include "01_dense_ffn/matmul_params.h"
#include "common/device/launch_config.h"
#include "common/simt/backend.h"

namespace octavo::dense_ffn {

// clang-format off
SIMT_ON_BOTH_BACKENDS(
  std::vector<LaunchConfig> matmul_registers_launches(const MatmulArgs& shape, const Device&);
  void matmul_registers(Exec&, const MatmulArgs&, View<const float, 1> bias);
  std::vector<LaunchConfig> matmul_mma_launches(const MatmulArgs& shape, const Device&);
  void matmul_mma(Exec&, const MatmulArgs&, View<const float, 1> bias);  // bf16
  std::vector<LaunchConfig> matmul_decode_launches(const MatmulArgs& shape, const Device&);
  void matmul_decode(Exec&, const MatmulArgs&, View<const float, 1> bias);  // at most 16 rows
)
// clang-format on

}  // namespace octavo::dense_ffn
