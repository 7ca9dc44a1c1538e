// y[t, n] = sum_k x[t, k] w[n, k]; x [T, K], w [N, K], y [T, N].
//
// Idea: a thread computes 8 x 8 of y in registers. For each k it reads 8 numbers of x and 8 of w
// from shared memory and multiplies all pairs: 64 multiplications for 16 numbers, where v2 has one
// for two. Global memory is read 16 bytes a thread, the next step's while this one is computed, and
// two sets of tiles alternate, so that one barrier a step is enough.
//
// The tiles are stored with k as the slow axis, so that 4 neighbours of a column are one load of 16
// bytes. Then the 32 threads that store one k of 16 rows and 2 pieces of K would meet in 16 banks:
// every other piece keeps its columns with the 16s flipped, and they use all 32.
//
// What it should improve: shared memory traffic, 8 times less; global, 2.7 times less. What limits
// it: the FMA units. They are the roof for fp32; for bf16 the tensor cores do 16 times as much.
//
// Grid: x along t, so that blocks which run together share tiles of w, and y along n; 128 threads
// for 64 x 128 of y. FLOPs: 2 T N K. Bytes: T N K (1 / 64 + 1 / 128) elements read, 4 T N written.
// Instantiations: fp32 and bf16, each with rows of 16-byte pieces and with any rows.

#include "01_dense_ffn/gpu_versions.h"
#include "01_dense_ffn/matmul_launchers.h"
#include "common/simt/launch.h"

namespace octavo::dense_ffn {
namespace {

using namespace simt;
using simt::bf16;

constexpr int kM = 64, kN = 128, kThreads = 128;  // 4 warps, each 32 x 64 of the tile
constexpr int kRowsAtOnce = kThreads / 2;         // two threads fetch the 32 bytes of a row's step
static_assert(kM / 8 * (kN / 8) == kThreads, "a thread owns 8 x 8");
static_assert(kM == kRowsAtOnce && kN == 2 * kRowsAtOnce);

template <class E>
constexpr int kPiece = 16 / static_cast<int>(sizeof(E));  // elements of 16 bytes
template <class E>
constexpr int kStep = 2 * kPiece<E>;  // columns of K a step: a row's are one sector

template <class E>
struct Tiles {
  float x[2][kStep<E>][kM];
  float w[2][kStep<E>][kN];
};

// Where column c of a tile lies in row k.
template <class E>
__device__ __forceinline__ int place(int k, int c) {
  return c ^ (k / kPiece<E> % 2 * 16);
}

// Elements [k, k + kPiece) of a row of a matrix [rows, K]; zeros outside.
template <class E, bool Aligned>
__device__ __forceinline__ Pack<E, kPiece<E>> fetch(const E* matrix, int row, int rows, int k,
                                                    int K) {
  Pack<E, kPiece<E>> piece;
  const E* from = matrix + static_cast<std::size_t>(row) * K + k;
  if (Aligned && row < rows && k < K) return load16(from);
  SIMT_UNROLL
  for (int i = 0; i < kPiece<E>; ++i) {
    piece[i] = !Aligned && row < rows && k + i < K ? from[i] : from_float<E>(0.0f);
  }
  return piece;
}

template <class E, int Columns>
__device__ __forceinline__ void keep(float (&tile)[kStep<E>][Columns], int p, int row,
                                     const Pack<E, kPiece<E>>& piece) {
  SIMT_UNROLL
  for (int i = 0; i < kPiece<E>; ++i) {
    tile[p * kPiece<E> + i][place<E>(p * kPiece<E>, row)] = to_float(piece[i]);
  }
}

// One step of a thread's 8 x 8: rows m .. m + 3 and m + 16 .. m + 19 of the tile, columns n .. n +
// 3 and n + 32 .. n + 35.
template <class E>
__device__ __forceinline__ void multiply(float (&sum)[8][8], const float (&x)[kStep<E>][kM],
                                         const float (&w)[kStep<E>][kN], int m, int n) {
  SIMT_UNROLL
  for (int k = 0; k < kStep<E>; ++k) {
    Pack<float, 4> a[2], b[2];
    SIMT_UNROLL
    for (int h = 0; h < 2; ++h) {
      a[h] = load16(&x[k][place<E>(k, m + h * 16)]);
      b[h] = load16(&w[k][place<E>(k, n + h * 32)]);
    }
    SIMT_UNROLL
    for (int i = 0; i < 8; ++i) {
      SIMT_UNROLL
      for (int j = 0; j < 8; ++j) sum[i][j] += a[i / 4][i % 4] * b[j / 4][j % 4];
    }
  }
}

// Four neighbours of row t of y, from column n on.
template <class E>
__device__ __forceinline__ void store_four(const MatmulParams<E>& a, int t, int n, const float* v) {
  if (t >= a.T || n >= a.N) return;
  float* const y = a.y + static_cast<std::size_t>(t) * a.N + n;
  Pack<float, 4> four;
  SIMT_UNROLL
  for (int j = 0; j < 4; ++j) {
    four[j] = a.bias != nullptr && n + j < a.N ? v[j] + a.bias[n + j] : v[j];
  }
  if (a.N % 4 == 0 && is_aligned(a.y, 16)) {
    store16(y, four);
  } else {
    for (int j = 0; j < 4 && n + j < a.N; ++j) y[j] = four[j];
  }
}

// A block owns 64 x 128 of y, a warp 32 x 64 of it, a thread 8 x 8. k ascends, so the sum of a row
// does not depend on the other rows.
template <class E, bool Aligned>
__global__ void __launch_bounds__(kThreads, 3) registers_kernel(MatmulParams<E> a) {
  SIMT_SHARED(Tiles<E>, tiles, [1]);
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int t0 = blockIdx.x * kM, n0 = blockIdx.y * kN;
  const int p = thread % 2, row = thread / 2;  // the piece it fetches: of one row of x and two of w
  const int m = warp / 2 * 32 + lane / 8 * 4, n = warp % 2 * 64 + lane % 8 * 4;

  Pack<E, kPiece<E>> x, w0, w1;
  const auto fetch_step = [&](int k0) {
    const int k = k0 + p * kPiece<E>;
    x = fetch<E, Aligned>(a.x, t0 + row, a.T, k, a.K);
    w0 = fetch<E, Aligned>(a.w, n0 + row, a.N, k, a.K);
    w1 = fetch<E, Aligned>(a.w, n0 + row + kRowsAtOnce, a.N, k, a.K);
  };
  const auto keep_step = [&](int stage) {
    keep<E>(tiles[0].x[stage], p, row, x);
    keep<E>(tiles[0].w[stage], p, row, w0);
    keep<E>(tiles[0].w[stage], p, row + kRowsAtOnce, w1);
    __syncthreads();  // complete; and the other stage, read before, may be written
  };

  float sum[8][8] = {};
  fetch_step(0);
  keep_step(0);
  int stage = 0;
  for (int k0 = kStep<E>; k0 < a.K; k0 += kStep<E>, stage ^= 1) {
    fetch_step(k0);
    multiply<E>(sum, tiles[0].x[stage], tiles[0].w[stage], m, n);
    keep_step(stage ^ 1);
  }
  multiply<E>(sum, tiles[0].x[stage], tiles[0].w[stage], m, n);

  SIMT_UNROLL
  for (int i = 0; i < 8; ++i) {
    const int t = t0 + m + i / 4 * 16 + i % 4;
    store_four(a, t, n0 + n, &sum[i][0]);
    store_four(a, t, n0 + n + 32, &sum[i][4]);
  }
}

template <class E>
void run_as(Exec& exec, const MatmulArgs& args, View<const float, 1> bias) {
  const MatmulParams<E> a = params_of<E>(args, bias);
  const bool aligned = rows_aligned(a.x, a.K) && rows_aligned(a.w, a.K);
  for (const LaunchConfig& l : SIMT_BACKEND::matmul_registers_launches(args, exec.device)) {
    if (aligned) {
      launch(registers_kernel<E, true>, l, exec.stream, a);
    } else {
      launch(registers_kernel<E, false>, l, exec.stream, a);
    }
  }
}

}  // namespace

namespace SIMT_BACKEND {

std::vector<LaunchConfig> matmul_registers_launches(const MatmulArgs& a, const Device&) {
  if (a.y.size() == 0) return {};
  return {{.kernel = "registers",
           .grid = {ceil_div(a.rows(), kM), ceil_div(a.outputs(), kN)},
           .block = {kThreads}}};
}

void matmul_registers(Exec& exec, const MatmulArgs& a, View<const float, 1> bias) {
  if (a.w.dtype() == DType::kBF16) return run_as<bf16>(exec, a, bias);
  run_as<float>(exec, a, bias);
}

Version<MatmulArgs> matmul_gpu_v3_registers() {
  return {.name = "gpu_v3_registers",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .launches = matmul_registers_launches,
          .run = [](Exec& exec, const MatmulArgs& a, const Prepared&) {
            matmul_registers(exec, a, {});
          }};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::dense_ffn
