#pragma once
// Which tile the tensor-core kernels use for a shape: host code, the same for "matmul" and "ffn".

#include <cstdint>

#include "common/device/launch_config.h"

namespace octavo::dense_ffn {

// A block computes m x n sums in steps of kMmaStep columns of K and keeps kMmaStages steps of both
// operands in shared memory.
struct MmaConfig {
  int m = 0, n = 0;
  int threads = 0;
  std::int64_t shared_bytes() const;
  friend bool operator==(const MmaConfig&, const MmaConfig&) = default;
};

inline constexpr int kMmaStep = 64;   // a row of a tile is 128 bytes: all 32 banks once
inline constexpr int kMmaStages = 3;  // one is computed on while two are on their way

inline constexpr MmaConfig kMmaLarge = {.m = 128, .n = 128, .threads = 256};
inline constexpr MmaConfig kMmaSmall = {.m = 64, .n = 64, .threads = 128};

// For T rows of x and `columns` rows of weights, those of gate and up together. The sums have the
// same bits with either.
MmaConfig choose_config(std::int64_t T, std::int64_t columns, const Device& device);

// Blocks along x go through the rows of x: those that run together share a tile of weights, which
// so leaves the memory once.
LaunchConfig mma_launch(const MmaConfig& config, std::int64_t T, std::int64_t columns);

}  // namespace octavo::dense_ffn
