// Solution of the exercise "activation_tail".
//
// y[i] = max(x[i], 0)^2; x, y [n], fp32. NaN stays NaN.
//
// Two faults. The thread that owns the last elements left without writing them when there were
// fewer than 4. And the launch counted whole packs of 4: for 1025, 1026 and 1027 elements it made
// one block of 256 threads, none of which owned the rest.

#include "01_dense_ffn/exercises/exercises.h"
#include "common/simt/launch.h"

namespace octavo::dense_ffn {
namespace {

using namespace simt;

constexpr int kThreads = 256, kEach = 4;

__device__ __forceinline__ float squared_relu(float x) { return x < 0.0f ? 0.0f : x * x; }

// A thread owns elements [4 i, 4 i + 4); the last one may own fewer.
__global__ void __launch_bounds__(kThreads)
    kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int i = (blockIdx.x * kThreads + threadIdx.x) * kEach;
  if (i + kEach > n) {
    for (int j = i; j < n; ++j) y[j] = squared_relu(x[j]);
    return;
  }
  Pack<float, kEach> values = load16(x + i);
  SIMT_UNROLL
  for (int j = 0; j < kEach; ++j) values[j] = squared_relu(values[j]);
  store16(y + i, values);
}

std::vector<LaunchConfig> launches(const SquaredReluArgs& a, const Device&) {
  if (a.x.size() == 0) return {};
  const std::int64_t packs = ceil_div(a.x.size(), kEach);
  return {{.kernel = "exercise", .grid = {ceil_div(packs, kThreads)}, .block = {kThreads}}};
}

void run(Exec& exec, const SquaredReluArgs& a, const Prepared&) {
  require(a.y.size() == a.x.size(), "squared ReLU: {} elements to {}", a.x.size(), a.y.size());
  for (const LaunchConfig& l : launches(a, exec.device)) {
    launch(kernel, l, exec.stream, a.x.data(), a.y.data(), static_cast<int>(a.x.size()));
  }
}

}  // namespace

namespace SIMT_BACKEND {

Version<SquaredReluArgs> exercise_activation_tail() {
  return {.name = "exercise",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32},
          .batch_invariant = true,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::dense_ffn
