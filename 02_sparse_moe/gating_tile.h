#pragma once
// What the lanes that share a row of logits do together. Included by kernel files.

#include "02_sparse_moe/gating_params.h"
#include "common/simt/simt.h"

namespace octavo::sparse_moe::device {
inline namespace SIMT_FLAVOUR {

// The first of the candidates of N lanes, the same in every lane.
template <int N>
__device__ __forceinline__ Candidate first_of(Candidate c) {
  const simt::WarpTile<N> tile;
  SIMT_UNROLL
  for (int bits = N / 2; bits > 0; bits /= 2) {
    const Candidate other = {tile.shuffle_xor(c.z, bits), tile.shuffle_xor(c.id, bits)};
    if (before(other, c)) c = other;
  }
  return c;
}

// A row without a softmax: the lowest ids, and weights that nobody takes for a result.
template <int N>
__device__ __forceinline__ void store_bad_row(const GatingParams& a, int* ids, float* weights) {
  for (int j = simt::WarpTile<N>().rank(); j < a.k; j += N) {
    ids[j] = j;
    weights[j] = NAN;
  }
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::sparse_moe::device
