// Exercise: turn a naive matrix product into a tiled one
//
// y[t, n] = sum_k x[t, k] w[n, k]; x [T, K], w [N, K], y [T, N], all fp32.
//
// The kernel below gives the right values. But each of the 256 threads of a block fetches 2 K
// elements from global memory, while all of them together need no more than 32 K different ones:
// 16 rows of x and 16 rows of w.
//
// Your task: fetch each of them once a block. Let the block walk along K in steps of 16. In each
// step its threads copy 16 x 16 elements of x and as many of w into shared memory, one of each a
// thread, wait until all have done so, and add up the 16 products that their element of y gets from
// this step.
//
// You are done when the contract is kept on every shape, T, N and K that are no multiple of 16
// among them, and the kernel moves at most 1/32 of the bytes that gpu_v1_naive moves. That needs
// fewer fetches, and threads of a warp that fetch neighbours.
//
//   SIMT_SHARED(float, x_tile, [16][16]);   an array that the threads of a block share
//   __syncthreads();                        waits until every thread of the block has come here
//
//   ./run exercise 01 tiled                 judges this file
//   ./run exercise 01 tiled --solution      judges exercises/solutions/tiled.cu

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
  const int n = blockIdx.x * kTile + threadIdx.x, t = blockIdx.y * kTile + threadIdx.y;
  if (n >= N || t >= T) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += x[t * K + k] * w[n * K + k];
  y[t * N + n] = sum;
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
