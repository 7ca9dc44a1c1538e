// Equation 1 in its plainest form: y[t, n] = sum_k x[t, k] w[n, k]; x [T, K], w [N, K], y [T, N].
//
// Idea: one thread an element of y. What limits it: neighbouring threads read the same row of x,
// which is one access, but rows of w that lie K elements apart, which is 32; and each of the T N
// threads reads 2 K elements, though there are only (T + N) K different ones.
//
// Grid: blocks of 32 x 8 threads, 32 along n. FLOPs: 2 T N K. Bytes asked for: 2 T N K elements.

#include "01_dense_ffn/gpu_versions.h"
#include "01_dense_ffn/matmul_params.h"
#include "common/simt/launch.h"

namespace octavo::dense_ffn {
namespace {

using namespace simt;
using simt::bf16;

constexpr int kBlockN = 32, kBlockT = 8;

// A thread owns one element of y and walks along k, ascending: the sum of a row does not depend on
// the other rows.
template <class E>
__global__ void __launch_bounds__(kBlockN* kBlockT)
    naive_kernel(const E* __restrict__ x, const E* __restrict__ w, float* __restrict__ y, int T,
                 int N, int K) {
  const int n = blockIdx.x * kBlockN + threadIdx.x, t = blockIdx.y * kBlockT + threadIdx.y;
  if (n >= N || t >= T) return;
  x += static_cast<std::size_t>(t) * K;
  w += static_cast<std::size_t>(n) * K;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += to_float(x[k]) * to_float(w[k]);
  y[static_cast<std::size_t>(t) * N + n] = sum;
}

std::vector<LaunchConfig> launches(const MatmulArgs& a, const Device&) {
  if (a.y.size() == 0) return {};
  return {{.kernel = "naive",
           .grid = {ceil_div(a.outputs(), kBlockN), ceil_div(a.rows(), kBlockT)},
           .block = {kBlockN, kBlockT}}};
}

template <class E>
void run_as(Exec& exec, const MatmulArgs& a) {
  const MatmulParams<E> p = params_of<E>(a);
  for (const LaunchConfig& l : launches(a, exec.device)) {
    launch(naive_kernel<E>, l, exec.stream, p.x, p.w, p.y, p.T, p.N, p.K);
  }
}

void run(Exec& exec, const MatmulArgs& a, const Prepared&) {
  if (a.w.dtype() == DType::kBF16) return run_as<bf16>(exec, a);
  run_as<float>(exec, a);
}

}  // namespace

namespace SIMT_BACKEND {

Version<MatmulArgs> matmul_gpu_v1_naive() {
  return {.name = "gpu_v1_naive",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::dense_ffn
