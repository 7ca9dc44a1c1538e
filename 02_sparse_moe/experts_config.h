#pragma once
// How the grouped expert kernels are launched: host code, of extents only.

#include <cstdint>

#include "01_dense_ffn/mma_config.h"

namespace octavo::sparse_moe {

// The tiles of experts_gpu_v3_tiles. The small one is for experts with a handful of rows: its 64
// columns of weights are read once for 32 rows.
inline constexpr dense_ffn::MmaConfig kTileLarge = dense_ffn::kMmaLarge;
inline constexpr dense_ffn::MmaConfig kTileSmall = {.m = 32, .n = 64, .threads = 128};

// The most tiles of m places that `slots` slots over E experts can need: every expert starts one,
// and every m further slots fill one more.
std::int64_t most_tiles(std::int64_t slots, std::int64_t E, std::int64_t m);

// For `slots` slots over E experts and `columns` rows of weights an expert. The sums have the same
// bits with either.
dense_ffn::MmaConfig choose_tile(std::int64_t slots, std::int64_t E, std::int64_t columns,
                                 const Device& device);

// Blocks along x go through the tiles: those of one expert that run together share weights, which
// so leave the memory once.
LaunchConfig tile_launch(std::string_view kernel, const dense_ffn::MmaConfig& tile,
                         std::int64_t slots, std::int64_t E, std::int64_t columns);

}  // namespace octavo::sparse_moe
