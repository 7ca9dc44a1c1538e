#pragma once
// The tile list of a plan: an expert's places in pieces of `m`, expert after expert. Included by
// kernel files.
//
// The host knows the shape but not the counts, so it launches as many blocks as a plan could need
// (most_tiles) and each block finds its own tile; those behind the last leave. Nothing is padded
// and the host never waits for the device.

#include "02_sparse_moe/align_params.h"
#include "02_sparse_moe/experts_config.h"

namespace octavo::sparse_moe::device {
inline namespace SIMT_FLAVOUR {

// Places [first, first + rows) of the order, all of one expert; expert -1: there is no such tile.
struct ExpertTile {
  int expert, first, rows;
};

// Tile `index`, the same in every lane. A warp looks at 32 experts at a time: each lane counts the
// tiles of one, and a scan tells whose the index is. Reads offsets, which the caches hold.
__device__ __forceinline__ ExpertTile find_tile(const int* offsets, int E, int m, int index) {
  const int lane = static_cast<int>(simt::lane_index());
  int before = 0;  // tiles of earlier experts
  for (int e0 = 0; e0 < E; e0 += 32) {
    const int e = e0 + lane;
    const int begin = e < E ? offsets[e] : 0, end = e < E ? offsets[e + 1] : 0;
    const int tiles = (end - begin + m - 1) / m, sum = before + inclusive_sum(tiles);
    const unsigned found = __ballot_sync(simt::kFullMask, sum > index);
    if (found != 0) {
      const int owner = __ffs(static_cast<int>(found)) - 1;
      const int first = begin + (index - (sum - tiles)) * m;  // right in the owner's lane
      return {e0 + owner, __shfl_sync(simt::kFullMask, first, owner),
              __shfl_sync(simt::kFullMask, min(m, end - first), owner)};
    }
    before = __shfl_sync(simt::kFullMask, sum, 31);
  }
  return {-1, 0, 0};
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::sparse_moe::device
