// y[i] = x[i] rounded to bf16; x, y [n].
//
// Idea: a thread rounds 8 neighbours, two loads of 16 bytes and one store of 16. It reads 4 n and
// writes 2 n bytes, the least there is, and nothing limits it but the memory. Where x or y starts
// elsewhere than at a multiple of 16 bytes, as rows of odd width in the middle of a batch do, it
// goes one element at a time.

#include "01_dense_ffn/gpu_versions.h"
#include "01_dense_ffn/matmul_params.h"
#include "common/simt/launch.h"

namespace octavo::dense_ffn {
namespace {

using namespace simt;
using simt::bf16;

constexpr int kThreads = 256, kEach = 8;

// A thread owns elements [8 i, 8 i + 8); the last one may own fewer. In 64 bits: T rows of D pass
// 2^31 before either of them is large.
__global__ void __launch_bounds__(kThreads)
    cast_kernel(const float* __restrict__ x, bf16* __restrict__ y, std::int64_t n, bool aligned) {
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kEach;
  if (aligned && i + kEach <= n) {
    const Pack<float, 4> a = load16(x + i), b = load16(x + i + 4);
    Pack<bf16, kEach> rounded;
    SIMT_UNROLL
    for (int j = 0; j < 4; ++j) {
      rounded[j] = to_bf16(a[j]);
      rounded[j + 4] = to_bf16(b[j]);
    }
    store16(y + i, rounded);
  } else {
    for (std::int64_t j = i; j < n && j < i + kEach; ++j) y[j] = to_bf16(x[j]);
  }
}

std::vector<LaunchConfig> launches(const CastArgs& a, const Device&) {
  if (a.x.size() == 0) return {};
  return {
      {.kernel = "cast", .grid = {ceil_div(a.x.size(), kThreads * kEach)}, .block = {kThreads}}};
}

void run(Exec& exec, const CastArgs& a, const Prepared&) {
  check_shapes(a);
  const bool aligned = is_aligned(a.x.data(), 16) && is_aligned(a.y.data(), 16);
  for (const LaunchConfig& l : launches(a, exec.device)) {
    launch(cast_kernel, l, exec.stream, a.x.data(), static_cast<bf16*>(a.y.data()), a.x.size(),
           aligned);
  }
}

}  // namespace

namespace SIMT_BACKEND {

Version<CastArgs> cast_gpu_v1_vector() {
  return {.name = "gpu_v1_vector",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kBF16},
          .batch_invariant = true,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::dense_ffn
