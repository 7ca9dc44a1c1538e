// y[t, n] = sum_k x[t, k] w[n, k]; x [T, K], w [N, K], y [T, N].
//
// Idea: a block computes a tile of 32 x 32 of y and keeps the part of x and w that it works on in
// shared memory, 32 columns of K at a time. A row that 32 threads need is fetched once and not 32
// times, and the threads of a warp fetch neighbours: the columns of w are as cheap as the rows of
// x.
//
// What it should improve: bytes from global memory, 32 times fewer than v1. What limits it: each
// multiplication reads two numbers from shared memory, which delivers 32 a clock to an SM that
// could do 64 or 128 multiplications; and all wait at two barriers every 32 columns.
//
// Grid: x along n, y along t; 32 x 32 threads. FLOPs: 2 T N K.
// Bytes: T N K (1 / 32 + 1 / 32) elements read, 4 T N written.

#include "01_dense_ffn/gpu_versions.h"
#include "01_dense_ffn/matmul_params.h"
#include "common/simt/launch.h"

namespace octavo::dense_ffn {
namespace {

using namespace simt;
using simt::bf16;

constexpr int kTile = 32;  // rows of x, rows of w and columns of K: a warp loads one row of a tile
static_assert(kTile * kTile <= 1024, "a block has at most 1024 threads");

// Element (row, k) of a matrix [rows, K]; zero outside, which adds nothing to a sum.
template <class E>
__device__ __forceinline__ float element(const E* matrix, int row, int rows, int k, int K) {
  return row < rows && k < K ? to_float(matrix[static_cast<std::size_t>(row) * K + k]) : 0.0f;
}

// Thread (i, j) owns y[t0 + j, n0 + i] and fetches column i of row j of both tiles. k ascends: the
// sum of a row does not depend on the other rows.
template <class E>
__global__ void __launch_bounds__(kTile* kTile) tiled_kernel(MatmulParams<E> a) {
  SIMT_SHARED(float, x_tile, [kTile][kTile]);
  SIMT_SHARED(float, w_tile, [kTile][kTile + 1]);  // + 1: a column lies in 32 banks, not in one
  const int i = threadIdx.x, j = threadIdx.y;
  const int t0 = blockIdx.y * kTile, n0 = blockIdx.x * kTile;

  float sum = 0;
  for (int k0 = 0; k0 < a.K; k0 += kTile) {
    x_tile[j][i] = element(a.x, t0 + j, a.T, k0 + i, a.K);
    w_tile[j][i] = element(a.w, n0 + j, a.N, k0 + i, a.K);
    __syncthreads();  // the tiles are complete
    SIMT_UNROLL
    for (int k = 0; k < kTile; ++k) sum += x_tile[j][k] * w_tile[i][k];
    __syncthreads();  // everyone has read them
  }
  if (t0 + j < a.T && n0 + i < a.N) a.y[static_cast<std::size_t>(t0 + j) * a.N + n0 + i] = sum;
}

std::vector<LaunchConfig> launches(const MatmulArgs& a, const Device&) {
  if (a.y.size() == 0) return {};
  return {{.kernel = "tiled",
           .grid = {ceil_div(a.outputs(), kTile), ceil_div(a.rows(), kTile)},
           .block = {kTile, kTile}}};
}

template <class E>
void run_as(Exec& exec, const MatmulArgs& a) {
  const MatmulParams<E> p = params_of<E>(a);
  for (const LaunchConfig& l : launches(a, exec.device)) launch(tiled_kernel<E>, l, exec.stream, p);
}

void run(Exec& exec, const MatmulArgs& a, const Prepared&) {
  if (a.w.dtype() == DType::kBF16) return run_as<bf16>(exec, a);
  run_as<float>(exec, a);
}

}  // namespace

namespace SIMT_BACKEND {

Version<MatmulArgs> matmul_gpu_v2_tiled() {
  return {.name = "gpu_v2_tiled",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::dense_ffn
