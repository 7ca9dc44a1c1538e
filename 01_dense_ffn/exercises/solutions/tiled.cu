// Solution of the exercise "tiled".
//
// y[t, n] = sum_k x[t, k] w[n, k]; x [T, K], w [N, K], y [T, N], all fp32.
//
// A block walks along K in steps of 16. Thread (i, j) fetches column i of row j of both tiles, so
// that 16 threads fetch 64 neighbouring bytes. Where a tile sticks out it is filled with zero,
// which adds nothing; a thread without an element of y still fetches and waits, since the others
// need what it fetches, and since every thread of a block must come to the same barriers.
//
// Bytes: T N K (1/16 + 1/16) elements read, 4 T N written.

#include "01_dense_ffn/exercises/exercises.h"
#include "common/simt/launch.h"

namespace octavo::dense_ffn {
namespace {

using namespace simt;

constexpr int kTile = 16;

// Thread (i, j) of block (a, b) owns y[16 b + j, 16 a + i].
__global__ void __launch_bounds__(kTile* kTile)
    kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y, int T,
           int N, int K) {
  SIMT_SHARED(float, x_tile, [kTile][kTile]);
  SIMT_SHARED(float, w_tile, [kTile][kTile + 1]);  // + 1: a column lies in different banks
  const int i = threadIdx.x, j = threadIdx.y;
  const int n0 = blockIdx.x * kTile, t0 = blockIdx.y * kTile;
  float sum = 0;
  for (int k0 = 0; k0 < K; k0 += kTile) {
    const bool inside = k0 + i < K;
    x_tile[j][i] = inside && t0 + j < T ? x[(t0 + j) * K + k0 + i] : 0.0f;
    w_tile[j][i] = inside && n0 + j < N ? w[(n0 + j) * K + k0 + i] : 0.0f;
    __syncthreads();  // the tiles are complete
    for (int k = 0; k < kTile; ++k) sum += x_tile[j][k] * w_tile[i][k];
    __syncthreads();  // all have read them
  }
  if (t0 + j < T && n0 + i < N) y[(t0 + j) * N + n0 + i] = sum;
}

std::vector<LaunchConfig> launches(const MatmulArgs& a, const Device&) {
  if (a.y.size() == 0) return {};
  return {{.kernel = "exercise",
           .grid = {ceil_div(a.outputs(), kTile), ceil_div(a.rows(), kTile)},
           .block = {kTile, kTile}}};
}

void run(Exec& exec, const MatmulArgs& a, const Prepared&) {
  check_shapes(a);
  for (const LaunchConfig& l : launches(a, exec.device)) {
    launch(kernel, l, exec.stream, static_cast<const float*>(a.x.data()),
           static_cast<const float*>(a.w.data()), a.y.data(), static_cast<int>(a.rows()),
           static_cast<int>(a.outputs()), static_cast<int>(a.inputs()));
  }
}

}  // namespace

namespace SIMT_BACKEND {

Version<MatmulArgs> exercise_tiled() {
  return {.name = "exercise",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32},
          .batch_invariant = true,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::dense_ffn
