// y = x w^T on tensor cores; x [T, K], w [N, K] bf16, y [T, N] float. FLOPs: 2 T N K.
//
// Grid: one block of 4 warps computes a tile of kBM x kBN of y, a warp a quarter of it, in steps of
// kBK along K. A block reads its kBM rows of x and kBN rows of w once, so all blocks together read
// 2 T N K (1 / kBM + 1 / kBN) bytes: what a tile saves over one thread an element, which would read
// 4 T N K.
//
// Both operands are copied to shared memory by cp.async, one step ahead, and go from there to
// registers by ldmatrix. A tile's row is 128 bytes, all 32 banks; unswizzled, the 8 rows that
// ldmatrix reads at one column would lie in the same 4 banks. So the 16-byte piece p of row r is
// kept at place p ^ (r % 8).

#include "common/simt/examples/examples.h"
#include "common/simt/simt.h"

namespace octavo::simt::examples {
namespace {

constexpr int kBM = 64, kBN = 64, kBK = 64, kThreads = 128, kStages = 2;
constexpr int kPiece = 8;  // elements of 16 bytes
constexpr int kPieces = kBK / kPiece;
static_assert(kPieces == 8, "the swizzle permutes 8 pieces");

struct Tiles {
  bf16 x[kStages][kBM * kBK];
  bf16 w[kStages][kBN * kBK];
};

struct MatmulParams {
  const bf16* x;
  const bf16* w;
  float* y;
  int T, N, K;
};

// Element offset of piece p of row r in a tile.
__device__ __forceinline__ int place(int r, int p) {
  return r * kBK + (p ^ (r % kPieces)) * kPiece;
}

// Starts the copy of rows [row0, row0 + Rows) and columns [k0, k0 + kBK) of a matrix [rows, K].
// What lies outside becomes zero, which adds nothing to the product.
template <int Rows>
__device__ __forceinline__ void copy_tile(bf16* tile, const bf16* matrix, int row0, int rows,
                                          int k0, int K) {
  for (int i = threadIdx.x; i < Rows * kPieces; i += kThreads) {
    const int r = i / kPieces, p = i % kPieces, k = k0 + p * kPiece;
    const bool inside = row0 + r < rows && k < K;
    const bf16* from = inside ? matrix + static_cast<std::size_t>(row0 + r) * K + k : matrix;
    cp_async16(tile + place(r, p), from, inside ? 16 : 0);
  }
}

// One step of kBK: the warp's 32 x 32 part of the block's tile, from row m0 of x's tile and row n0
// of w's.
__device__ __forceinline__ void multiply(float (&sum)[2][4][4], const bf16* x, const bf16* w,
                                         int m0, int n0) {
  const int lane = threadIdx.x % 32;
  SIMT_UNROLL
  for (int p = 0; p < kPieces; p += 2) {  // 16 columns of K
    std::uint32_t a[2][4], b[4][2];
    SIMT_UNROLL
    for (int i = 0; i < 2; ++i)
      ldmatrix_x4(a[i], x + place(m0 + i * 16 + lane % 16, p + lane / 16));
    SIMT_UNROLL
    for (int j = 0; j < 4; j += 2) {  // two tiles of 8 columns of y, both halves of the 16
      std::uint32_t r[4];
      ldmatrix_x4(r, w + place(n0 + j * 8 + lane % 8 + lane / 16 * 8, p + lane / 8 % 2));
      b[j][0] = r[0];
      b[j][1] = r[1];
      b[j + 1][0] = r[2];
      b[j + 1][1] = r[3];
    }
    SIMT_UNROLL
    for (int i = 0; i < 2; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < 4; ++j) mma_m16n8k16_bf16(sum[i][j], a[i], b[j], sum[i][j]);
    }
  }
}

// Two neighbours of a row of y; one where the row ends, or where 8 bytes would not be aligned.
__device__ __forceinline__ void store_pair(const MatmulParams& a, int t, int n, float first,
                                           float second) {
  if (t >= a.T || n >= a.N) return;
  float* y = a.y + static_cast<std::size_t>(t) * a.N + n;
  if (a.N % 2 == 0) {
    store_pack(y, Pack<float, 2>{{first, second}});
  } else {
    y[0] = first;
    if (n + 1 < a.N) y[1] = second;
  }
}

// A warp owns 32 x 32 of the tile as 2 x 4 fragments of 16 x 8, a lane 4 floats of each.
__global__ void __launch_bounds__(kThreads) matmul_kernel(MatmulParams a) {
  Tiles& tiles = *dynamic_shared<Tiles>();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int t0 = blockIdx.y * kBM, n0 = blockIdx.x * kBN;
  const int warp_m = warp / 2 * 32, warp_n = warp % 2 * 32;
  const auto copy = [&](int stage, int k0) {
    copy_tile<kBM>(tiles.x[stage], a.x, t0, a.T, k0, a.K);
    copy_tile<kBN>(tiles.w[stage], a.w, n0, a.N, k0, a.K);
    cp_async_commit();
  };

  float sum[2][4][4] = {};
  copy(0, 0);
  for (int k0 = 0, stage = 0; k0 < a.K; k0 += kBK, stage ^= 1) {
    if (k0 + kBK < a.K) {
      copy(stage ^ 1, k0 + kBK);
      cp_async_wait<1>();
    } else {
      cp_async_wait<0>();
    }
    __syncthreads();  // this step's tiles are complete, for everyone
    multiply(sum, tiles.x[stage], tiles.w[stage], warp_m, warp_n);
    __syncthreads();  // everyone has read them: the stage may be filled again
  }

  SIMT_UNROLL
  for (int i = 0; i < 2; ++i) {
    SIMT_UNROLL
    for (int j = 0; j < 4; ++j) {
      const int t = t0 + warp_m + i * 16 + lane / 4, n = n0 + warp_n + j * 8 + lane % 4 * 2;
      store_pair(a, t, n, sum[i][j][0], sum[i][j][1]);
      store_pair(a, t + 8, n, sum[i][j][2], sum[i][j][3]);
    }
  }
}

}  // namespace

namespace SIMT_BACKEND {

void matmul(const MatmulArgs& a, void* stream) {
  require(a.K % kPiece == 0, "matmul: K is {}, must be a multiple of {}", a.K, kPiece);
  const dim3 grid(static_cast<unsigned>((a.N + kBN - 1) / kBN),
                  static_cast<unsigned>((a.T + kBM - 1) / kBM));
  const MatmulParams params{
      reinterpret_cast<const bf16*>(a.x), reinterpret_cast<const bf16*>(a.w), a.y, a.T, a.N, a.K};
  launch(matmul_kernel, grid, dim3(kThreads), sizeof(Tiles), static_cast<stream_t>(stream), params);
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::simt::examples
