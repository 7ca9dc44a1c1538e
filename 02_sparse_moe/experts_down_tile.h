#pragma once
// A block's tile of the product with down on the tensor cores, stored row by row to the slots.
// Included by kernel files.

#include "01_dense_ffn/hidden_tile.h"
#include "02_sparse_moe/experts_params.h"

namespace octavo::sparse_moe::device {
inline namespace SIMT_FLAVOUR {

// Two neighbours of a slot's row; one where the row ends.
__device__ __forceinline__ void store_pair(float* row, int d, int D, float first, float second) {
  if (d >= D) return;
  if (D % 2 == 0) {  // the workspace is aligned
    simt::store_pack(row + d, simt::Pack<float, 2>{{first, second}});
  } else {
    row[d] = first;
    if (d + 1 < D) row[d + 1] = second;
  }
}

// kM rows of H from place `first` on, of which `stored` go to their slots, by kN columns of expert
// e's down from d0 on. A lane owns two pairs of neighbours in each fragment of 16 x 8. `computed`
// >= `stored` rows of hidden [.., F] can be read.
template <class Tile, bool Aligned>
__device__ __forceinline__ void down_tile(const ExpertsParams<simt::bf16>& a, int e,
                                          const simt::bf16* hidden, int computed, const int* order,
                                          int stored, int d0, typename Tile::Stages& stages) {
  typename Tile::Sums sum = {};
  dense_ffn::device::mma_sum<Tile, Aligned>(
      sum, stages, dense_ffn::device::MmaRows{hidden, 0, computed},
      dense_ffn::device::MmaRows{a.down + row_start(e, 0, a.D, a.F), d0, a.D}, a.F);
  const int lane = threadIdx.x % 32;
  SIMT_UNROLL
  for (int i = 0; i < Tile::kI; ++i) {
    SIMT_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int r = Tile::warp_m() + i * 16 + lane / 4 + half * 8;
      if (r >= stored) continue;
      float* const row = a.slot_y + row_start(order[r], a.D);
      SIMT_UNROLL
      for (int j = 0; j < Tile::kJ; ++j) {
        const int d = d0 + Tile::warp_n() + j * 8 + lane % 4 * 2;
        store_pair(row, d, a.D, sum[i][j][half * 2], sum[i][j][half * 2 + 1]);
      }
    }
  }
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::sparse_moe::device
