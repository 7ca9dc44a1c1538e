#pragma once
// The dot products of the decode kernels: 16 rows of weights with 1 to 16 rows of x, by one block.
// Included by kernel files.
//
// Every weight is read once, 16 bytes a thread, and goes straight to registers: nobody else needs
// it. The 8 warps take the columns of K in turns of 32 and their sums are added in a fixed order,
// so that 8 times as many loads are on their way; the split depends on nothing but K, and the bits
// of a row depend on nothing but the row.

#include "common/simt/simt.h"

namespace octavo::dense_ffn::device {
inline namespace SIMT_FLAVOUR {

inline constexpr int kDecodeRows = 16;     // of x, at most
inline constexpr int kDecodeColumns = 16;  // rows of weights, columns of the result
inline constexpr int kDecodeWarps = 8;
inline constexpr int kDecodeThreads = 32 * kDecodeWarps;
inline constexpr int kDecodeTurn = 32;  // columns of K
static_assert(kDecodeThreads == kDecodeRows * kDecodeColumns, "a thread returns one sum");

// A warp's sums in shared memory. Two rows lie side by side and the next two 8 words further on:
// neither the 32 lanes that store 8 columns of every other row nor those that read two neighbours
// meet in a bank.
struct DecodeSums {
  float pair[kDecodeRows / 2][2 * kDecodeColumns + 8];
  __device__ float& operator()(int t, int c) { return pair[t / 2][t % 2 * kDecodeColumns + c]; }
};
struct DecodePartials {
  DecodeSums warp[kDecodeWarps];
};

template <class E>
inline constexpr int kDecodePiece = 16 / static_cast<int>(sizeof(E));

// 16 bytes of a row of K elements from k on; zeros beyond its end, and of no row (null). Aligned:
// the row starts at a multiple of 16 bytes and K is one of pieces.
template <bool Aligned, class E>
__device__ __forceinline__ simt::Pack<E, kDecodePiece<E>> decode_fetch(const E* row, int k, int K) {
  if (Aligned && row != nullptr && k < K) return simt::load16(row + k);
  simt::Pack<E, kDecodePiece<E>> piece;
  SIMT_UNROLL
  for (int i = 0; i < kDecodePiece<E>; ++i) {
    piece[i] = !Aligned && row != nullptr && k + i < K ? row[k + i] : simt::from_float<E>(0.0f);
  }
  return piece;
}

struct DecodeRowItself {
  __device__ int operator()(int t) const { return t; }
};

// T <= 16 rows of K elements: row t is row index(t) of the matrix x.
template <class E, class Index = DecodeRowItself>
struct DecodeInput {
  const E* x;
  int T, K;
  Index index = {};
  __device__ const E* row(int t) const {
    return t < T ? x + static_cast<std::size_t>(index(t)) * K : nullptr;
  }
};

// fp32: a lane sums 4 columns c of every row t over a quarter of every eighth of K; 8 neighbours
// share the columns. 16 numbers of w and 4 of x at a time give 16 multiplications a row.
template <bool Aligned, class Index, class WeightRow>
__device__ __forceinline__ void decode_warp_sums(const DecodeInput<float, Index>& in,
                                                 WeightRow w_row, DecodeSums& out) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int c0 = lane / 8 * 4;
  float sum[kDecodeRows][4] = {};
  for (int k0 = warp * kDecodeTurn; k0 < in.K; k0 += kDecodeWarps * kDecodeTurn) {
    const int k = k0 + lane % 8 * 4;
    simt::Pack<float, 4> w[4];
    SIMT_UNROLL
    for (int i = 0; i < 4; ++i) w[i] = decode_fetch<Aligned>(w_row(c0 + i), k, in.K);
    SIMT_UNROLL
    for (int t = 0; t < kDecodeRows; ++t) {
      if (t >= in.T) continue;
      const simt::Pack<float, 4> x = decode_fetch<Aligned>(in.row(t), k, in.K);
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) {
        SIMT_UNROLL
        for (int e = 0; e < 4; ++e) sum[t][i] += w[i][e] * x[e];
      }
    }
  }
  SIMT_UNROLL
  for (int t = 0; t < kDecodeRows; ++t) {
    if (t >= in.T) continue;
    SIMT_UNROLL
    for (int i = 0; i < 4; ++i) {
      const float all = simt::WarpTile<8>().reduce(sum[t][i], simt::Add());
      if (lane % 8 == t % 8) out(t, c0 + i) = all;
    }
  }
}

// bf16: mma with the weights as its 16 rows and x as its 8 columns, twice for more than 8 rows of
// x. A lane of mma holds pairs of columns of K that lie 8 apart; a sum does not mind the order of
// its terms, so each lane fetches 8 neighbours of w and the same 8 of x and calls them those.
template <bool Aligned, class Index, class WeightRow>
__device__ __forceinline__ void decode_warp_sums(const DecodeInput<simt::bf16, Index>& in,
                                                 WeightRow w_row, DecodeSums& out) {
  constexpr int kAhead = 4;  // turns whose loads are on their way together
  using Piece = simt::Pack<simt::bf16, 8>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int g = lane / 4, q = lane % 4;
  const bool both = in.T > 8;
  const auto pair = [](const Piece& p, int i) { return simt::pack2(p[2 * i], p[2 * i + 1]); };
  const simt::bf16* const w0 = w_row(g);
  const simt::bf16* const w1 = w_row(g + 8);
  float sum[2][4] = {};
  for (int k0 = warp * kDecodeTurn; k0 < in.K; k0 += kAhead * kDecodeWarps * kDecodeTurn) {
    Piece w[kAhead][2], x[kAhead][2];
    SIMT_UNROLL
    for (int u = 0; u < kAhead; ++u) {
      const int k = k0 + u * kDecodeWarps * kDecodeTurn + q * 8;
      w[u][0] = decode_fetch<Aligned>(w0, k, in.K);
      w[u][1] = decode_fetch<Aligned>(w1, k, in.K);
      x[u][0] = decode_fetch<Aligned>(in.row(g), k, in.K);
      x[u][1] = both ? decode_fetch<Aligned>(in.row(g + 8), k, in.K) : Piece{};
    }
    SIMT_UNROLL
    for (int u = 0; u < kAhead; ++u) {
      if (k0 + u * kDecodeWarps * kDecodeTurn >= in.K) break;
      SIMT_UNROLL
      for (int h = 0; h < 4; h += 2) {  // 16 of the 32 columns
        const std::uint32_t a[4] = {pair(w[u][0], h), pair(w[u][1], h), pair(w[u][0], h + 1),
                                    pair(w[u][1], h + 1)};
        const std::uint32_t b0[2] = {pair(x[u][0], h), pair(x[u][0], h + 1)};
        simt::mma_m16n8k16_bf16(sum[0], a, b0, sum[0]);
        if (!both) continue;
        const std::uint32_t b1[2] = {pair(x[u][1], h), pair(x[u][1], h + 1)};
        simt::mma_m16n8k16_bf16(sum[1], a, b1, sum[1]);
      }
    }
  }
  SIMT_UNROLL
  for (int i = 0; i < 4; ++i) {
    out(q * 2 + i % 2, g + i / 2 * 8) = sum[0][i];
    if (both) out(8 + q * 2 + i % 2, g + i / 2 * 8) = sum[1][i];
  }
}

// Thread 16 t + c gets the sum over K of row t of x times row c of the weights; zero for t >= T.
// w_row(c) is where row c starts, null for none. All threads of the block call it together.
template <bool Aligned, class E, class Index, class WeightRow>
__device__ __forceinline__ float decode_sum(const DecodeInput<E, Index>& in, WeightRow w_row,
                                            DecodePartials& partials) {
  const int t = threadIdx.x / kDecodeColumns, c = threadIdx.x % kDecodeColumns;
  decode_warp_sums<Aligned>(in, w_row, partials.warp[threadIdx.x / 32]);
  __syncthreads();  // all warps have stored their sums
  float sum = 0;
  if (t < in.T) {
    SIMT_UNROLL
    for (int w = 0; w < kDecodeWarps; ++w) sum += partials.warp[w](t, c);
  }
  return sum;
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::dense_ffn::device
