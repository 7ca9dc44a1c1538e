// y[t, n] = sum_k x[t, k] w[n, k] (+ bias[n]) for 1 to 16 rows; x [T, K], w [N, K], y [T, N].
//
// Idea: with so few rows the time is that of reading w, so everything serves the loads: each weight
// is read once, 16 bytes a thread, many loads at a time, with no stop at a barrier before the end.
// A tile of v4 would compute 64 rows for one, and its N / 64 blocks leave most of a GPU idle.
// decode_rows.h has the loop: fp32 on the FMA units, bf16 on the tensor cores.
//
// What it should improve: the share of the memory's bandwidth. What limits it: that bandwidth, once
// N / 16 blocks fill the GPU (N of a few thousand). fp32 with 16 rows comes near the limit of the
// FMA units. x is read again by each block, T / 16 times the bytes of w, from the caches.
//
// Grid: one block of 256 threads for 16 columns of y. FLOPs: 2 T N K.
// Bytes: N K elements of w once; T K elements of x a block; 4 T N written.
// Instantiations: fp32 and bf16, each with rows of 16-byte pieces and with any rows.

#include "01_dense_ffn/decode_rows.h"
#include "01_dense_ffn/gpu_versions.h"
#include "01_dense_ffn/matmul_launchers.h"
#include "common/simt/launch.h"

namespace octavo::dense_ffn {
namespace {

using namespace device;
using namespace simt;
using simt::bf16;

// A block owns 16 columns of y, thread 16 t + c the element (t, c) of them.
template <class E, bool Aligned>
__global__ void __launch_bounds__(kDecodeThreads) decode_kernel(MatmulParams<E> a) {
  SIMT_SHARED(DecodePartials, partials, [1]);
  const int n0 = blockIdx.x * kDecodeColumns;
  const auto w_row = [&](int c) -> const E* {
    return n0 + c < a.N ? a.w + static_cast<std::size_t>(n0 + c) * a.K : nullptr;
  };
  float sum = decode_sum<Aligned>(DecodeInput<E>{a.x, a.T, a.K}, w_row, partials[0]);
  const int t = threadIdx.x / kDecodeColumns, n = n0 + threadIdx.x % kDecodeColumns;
  if (t >= a.T || n >= a.N) return;
  if (a.bias != nullptr) sum += a.bias[n];
  a.y[static_cast<std::size_t>(t) * a.N + n] = sum;
}

bool supports(const MatmulArgs& a, const Device&) { return a.rows() <= kDecodeRows; }

template <class E>
void run_as(Exec& exec, const MatmulParams<E>& a, const LaunchConfig& l) {
  if (rows_aligned(a.x, a.K) && rows_aligned(a.w, a.K)) {
    launch(decode_kernel<E, true>, l, exec.stream, a);
  } else {
    launch(decode_kernel<E, false>, l, exec.stream, a);
  }
}

}  // namespace

namespace SIMT_BACKEND {

std::vector<LaunchConfig> matmul_decode_launches(const MatmulArgs& a, const Device&) {
  if (a.y.size() == 0) return {};
  return {{.kernel = "decode",
           .grid = {ceil_div(a.outputs(), kDecodeColumns)},
           .block = {kDecodeThreads}}};
}

void matmul_decode(Exec& exec, const MatmulArgs& a, View<const float, 1> bias) {
  require(a.rows() <= kDecodeRows, "matmul: the decode kernel takes {} rows at most, not {}",
          kDecodeRows, a.rows());
  check_shapes(a);
  for (const LaunchConfig& l : matmul_decode_launches(a, exec.device)) {
    if (a.w.dtype() == DType::kBF16) {
      run_as(exec, params_of<bf16>(a, bias), l);
    } else {
      run_as(exec, params_of<float>(a, bias), l);
    }
  }
}

Version<MatmulArgs> matmul_gpu_v5_decode() {
  return {
      .name = "gpu_v5_decode",
      .backend = SIMT_THIS_BACKEND,
      .dtypes = {DType::kF32, DType::kBF16},
      .batch_invariant = true,
      .supports = supports,
      .launches = matmul_decode_launches,
      .run = [](Exec& exec, const MatmulArgs& a, const Prepared&) { matmul_decode(exec, a, {}); }};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::dense_ffn
