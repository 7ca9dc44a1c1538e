#pragma once
// A block's tile of H = act(X Wg^T + bg) * (X Wu^T + bu) on the tensor cores. Included by kernel
// files.
//
// A tile's rows of weights come from gate and up in turns of 8, so that the same lane ends with
// gate and up of the same element of H, applies the activation in registers and rounds once.
//
// Which rows of a tile are which f is free, since they are copied one by one. They are dealt out so
// that a lane's f are neighbours, and 4 lanes write whole sectors of H: fragments would give each
// lane pairs 8 apart, and sectors half used.

#include "01_dense_ffn/ffn_params.h"
#include "01_dense_ffn/mma_tile.h"

namespace octavo::dense_ffn::device {
inline namespace SIMT_FLAVOUR {

// How the 32 tile rows of a warp are dealt out: fragment j of 8 is gate for even j and up for odd
// when gated, and its row c holds f = (c / 2) 2 groups + 2 group + c % 2 of the warp's 8 groups.
struct Deal {
  bool gated;
  __device__ int groups() const { return gated ? 2 : 4; }
  __device__ int group(int j) const { return gated ? j / 2 : j; }
  __device__ int f(int r) const {  // of tile row r, counted from the block's first
    return r / 32 * 8 * groups() + r % 8 / 2 * 2 * groups() + group(r % 32 / 8) * 2 + r % 2;
  }
};

// The weights' rows of a tile; `first` is the block's first f. In a stack of layers `offset` leads
// to the layer: one number in registers, where two pointers of its own would be four.
struct DealtRows {
  const simt::bf16* gate;
  const simt::bf16* up;
  int first, F;
  std::size_t offset = 0;
  __device__ const simt::bf16* operator()(int r, int D) const {
    const int f = first + Deal{gate != nullptr}.f(r);
    const simt::bf16* const matrix = gate != nullptr && r / 8 % 2 == 0 ? gate : up;
    return f < F ? matrix + offset + static_cast<std::size_t>(f) * D : nullptr;
  }
};

// N neighbours of row t of H from f on.
template <int N>
__device__ __forceinline__ void store_hidden(const HiddenParams<simt::bf16>& a, int t, int f,
                                             const float (&v)[N]) {
  if (t >= a.T || f >= a.F) return;
  simt::bf16* const hidden = a.hidden + static_cast<std::size_t>(t) * a.F + f;
  if (a.F % N == 0) {  // the workspace is aligned
    simt::Pack<simt::bf16, N> rounded;
    SIMT_UNROLL
    for (int i = 0; i < N; ++i) rounded[i] = simt::to_bf16(v[i]);
    simt::store_pack(hidden, rounded);
  } else {
    for (int i = 0; i < N && f + i < a.F; ++i) hidden[i] = simt::to_bf16(v[i]);
  }
}

// H from the sums of one row t: lane / 4 gives the row of a fragment, lane % 4 the columns.
template <bool Gated, int J>
__device__ __forceinline__ void finish_row(const HiddenParams<simt::bf16>& a, int t, int f,
                                           const float (&sum)[J][4], int half) {
  constexpr int kCount = Gated ? J : 2 * J;  // neighbours that this lane holds
  float v[kCount];
  SIMT_UNROLL
  for (int i = 0; i < kCount; ++i) {
    const int at = half * 2 + i % 2, n = f + i < a.F ? f + i : 0;
    if constexpr (Gated) {
      v[i] = hidden_value(a, n, sum[i / 2 * 2][at], sum[i / 2 * 2 + 1][at]);
    } else {
      v[i] = hidden_value(a, n, 0.0f, sum[i / 2][at]);
    }
  }
  store_hidden(a, t, f, v);
}

// kM rows of H from t0 on and kN / 2 columns from w.first on (kN when not gated), a lane 4 (8)
// neighbours of each of its rows. x and w say where the rows of X and of the weights are; what lies
// beyond T and F is not stored.
template <class Tile, bool Aligned, class XRows>
__device__ __forceinline__ void hidden_tile(const HiddenParams<simt::bf16>& a, const XRows& x,
                                            const DealtRows& w, int t0,
                                            typename Tile::Stages& stages) {
  static_assert(Tile::kJ == 4 && Tile::kWarpN == 32);
  const bool gated = a.gate != nullptr;
  const int lane = threadIdx.x % 32, groups = Deal{gated}.groups();
  typename Tile::Sums sum = {};
  mma_sum<Tile, Aligned>(sum, stages, x, w, a.D);
  const int f = w.first + Tile::warp_n() / 32 * 8 * groups + lane % 4 * 2 * groups;
  SIMT_UNROLL
  for (int i = 0; i < Tile::kI; ++i) {
    SIMT_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int t = t0 + Tile::warp_m() + i * 16 + lane / 4 + half * 8;
      if (gated) {
        finish_row<true>(a, t, f, sum[i], half);
      } else {
        finish_row<false>(a, t, f, sum[i], half);
      }
    }
  }
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::dense_ffn::device
