#pragma once
// The main loop of the tensor-core kernels: a block's tile of sums over K of rows of x times rows
// of weights. Included by kernel files.
//
// Steps of 64 columns of K go through three stages of shared memory: while one is computed on,
// cp.async fills the next two. One barrier a step is enough: whoever passes it has finished the
// step before, whose stage is the one that is filled next.
//
// A tile's row is 128 bytes, all 32 banks. ldmatrix reads 16 bytes of each of 8 rows, which would
// lie in the same 4 banks; so the 16-byte piece p of row r is kept at place p ^ (r % 8).

#include "01_dense_ffn/mma_config.h"
#include "common/simt/simt.h"

namespace octavo::dense_ffn::device {
inline namespace SIMT_FLAVOUR {

inline constexpr int kMmaPiece = 8;  // elements of 16 bytes
inline constexpr int kMmaPieces = kMmaStep / kMmaPiece;
static_assert(kMmaPieces == 8, "the swizzle permutes 8 pieces");

// M x N sums a block; a warp owns M / 2 x 32 of them, a lane 4 of each 16 x 8.
template <int M, int N>
struct MmaTile {
  static constexpr int kM = M, kN = N, kThreads = 2 * N;
  static constexpr int kRowsAtOnce = kThreads / kMmaPieces;  // that one sweep of a copy fills
  static constexpr int kWarpM = M / 2, kWarpN = 32;
  static constexpr int kI = kWarpM / 16, kJ = kWarpN / 8;  // fragments of 16 x 8 a warp
  static_assert(M % kRowsAtOnce == 0 && N % kRowsAtOnce == 0 && kWarpM % 16 == 0);

  struct Stages {
    simt::bf16 x[kMmaStages][M * kMmaStep];
    simt::bf16 w[kMmaStages][N * kMmaStep];
  };
  using Sums = float[kI][kJ][4];

  // The warp's first row and column of the tile.
  __device__ static int warp_m() { return threadIdx.x / 32 % 2 * kWarpM; }
  __device__ static int warp_n() { return threadIdx.x / 64 * kWarpN; }
};
using MmaLargeTile = MmaTile<kMmaLarge.m, kMmaLarge.n>;
using MmaSmallTile = MmaTile<kMmaSmall.m, kMmaSmall.n>;
static_assert(MmaLargeTile::kThreads == kMmaLarge.threads);
static_assert(MmaSmallTile::kThreads == kMmaSmall.threads);

// Where the rows of a tile come from: rows(r, K) is the start of the row of K elements that becomes
// row r of the tile, null for none. This one takes those of a matrix [rows, K] from `first` on.
struct MmaRows {
  const simt::bf16* matrix;
  int first, rows;
  __device__ const simt::bf16* operator()(int r, int K) const {
    return first + r < rows ? matrix + static_cast<std::size_t>(first + r) * K : nullptr;
  }
};

// Element offset of piece p of row r in a tile.
__device__ __forceinline__ int mma_place(int r, int p) {
  return r * kMmaStep + (p ^ (r % kMmaPieces)) * kMmaPiece;
}

// Copies the first `count` of 8 elements; the others become zero. Aligned: count is 0 or 8, and the
// copy runs beside the thread.
template <bool Aligned>
__device__ __forceinline__ void mma_copy_piece(simt::bf16* to, const simt::bf16* from, int count) {
  if constexpr (Aligned) {
    simt::cp_async16(to, from, count * 2);
  } else {
    simt::Pack<simt::bf16, kMmaPiece> piece;
    SIMT_UNROLL
    for (int i = 0; i < kMmaPiece; ++i) piece[i] = i < count ? from[i] : simt::to_bf16(0.0f);
    simt::store16(to, piece);
  }
}

// Columns [k0, k0 + 64) of the block's rows of one operand. What lies outside becomes zero, which
// adds nothing to the product.
template <class Tile, int Rows, bool Aligned, class RowsOf>
__device__ __forceinline__ void mma_copy(simt::bf16* tile, const RowsOf& rows, int k0, int K) {
  const int first = threadIdx.x / kMmaPieces, p = threadIdx.x % kMmaPieces;
  const int k = k0 + p * kMmaPiece;
  SIMT_UNROLL
  for (int i = 0; i < Rows / Tile::kRowsAtOnce; ++i) {
    const int r = first + i * Tile::kRowsAtOnce;
    const simt::bf16* const row = rows(r, K);
    const int left = row != nullptr && k < K ? K - k : 0;
    mma_copy_piece<Aligned>(tile + mma_place(r, p), left > 0 ? row + k : nullptr,
                            left < kMmaPiece ? left : kMmaPiece);
  }
}

// The warp's sums of one step.
template <class Tile>
__device__ __forceinline__ void mma_multiply(typename Tile::Sums& sum, const simt::bf16* x,
                                             const simt::bf16* w) {
  const int lane = threadIdx.x % 32, m0 = Tile::warp_m(), n0 = Tile::warp_n();
  SIMT_UNROLL
  for (int p = 0; p < kMmaPieces; p += 2) {  // 16 columns of K
    std::uint32_t a[Tile::kI][4], b[Tile::kJ][2];
    SIMT_UNROLL
    for (int i = 0; i < Tile::kI; ++i) {
      simt::ldmatrix_x4(a[i], x + mma_place(m0 + i * 16 + lane % 16, p + lane / 16));
    }
    SIMT_UNROLL
    for (int j = 0; j < Tile::kJ; j += 2) {  // 16 columns of the tile, both halves of the 16 of K
      std::uint32_t r[4];
      simt::ldmatrix_x4(r, w + mma_place(n0 + j * 8 + lane / 16 * 8 + lane % 8, p + lane / 8 % 2));
      b[j][0] = r[0];
      b[j][1] = r[1];
      b[j + 1][0] = r[2];
      b[j + 1][1] = r[3];
    }
    SIMT_UNROLL
    for (int i = 0; i < Tile::kI; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < Tile::kJ; ++j) {
        simt::mma_m16n8k16_bf16(sum[i][j], a[i], b[j], sum[i][j]);
      }
    }
  }
}

// Sums over all of K, ascending in steps of 16: the bits of a row do not depend on the other rows.
// Aligned: every row of x and of w starts at a multiple of 16 bytes.
template <class Tile, bool Aligned, class XRows, class WRows>
__device__ __forceinline__ void mma_sum(typename Tile::Sums& sum, typename Tile::Stages& stages,
                                        const XRows& x, const WRows& w, int K) {
  const auto copy = [&](int stage, int k0) {
    if (k0 < K) {
      mma_copy<Tile, Tile::kM, Aligned>(stages.x[stage], x, k0, K);
      mma_copy<Tile, Tile::kN, Aligned>(stages.w[stage], w, k0, K);
    }
    simt::cp_async_commit();  // an empty group too, so that groups count steps
  };
  SIMT_UNROLL
  for (int s = 0; s < kMmaStages - 1; ++s) copy(s, s * kMmaStep);
  int full = 0, free = kMmaStages - 1;
  for (int k0 = 0; k0 < K; k0 += kMmaStep) {
    simt::cp_async_wait<kMmaStages - 2>();
    __syncthreads();  // this step is complete, for everyone; the step before is done with
    copy(free, k0 + (kMmaStages - 1) * kMmaStep);
    mma_multiply<Tile>(sum, stages.x[full], stages.w[full]);
    full = full + 1 < kMmaStages ? full + 1 : 0;
    free = free + 1 < kMmaStages ? free + 1 : 0;
  }
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::dense_ffn::device
