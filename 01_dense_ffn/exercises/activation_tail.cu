// Exercise: find what is wrong at the end of a vectorised activation
//
// y[i] = max(x[i], 0)^2, the squared ReLU of So et al. 2021 (Primer); x, y [n], fp32. NaN stays
// NaN.
//
// The kernel below gives each thread 4 neighbours: one load of 16 bytes, one store of 16. It was
// tried with n = 4, 64 and 4096 and went into use, since a layer's width is always a multiple of 4.
// Then someone shared a batch out over 3 devices.
//
// Your task: make it right for every n, and keep the 16-byte accesses for all but the last few
// elements. There is more than one place to look at.
//
//   ./run exercise 01 activation_tail              judges this file
//   ./run exercise 01 activation_tail --solution   judges exercises/solutions/activation_tail.cu

#include <algorithm>

#include "01_dense_ffn/exercises/exercises.h"
#include "common/simt/launch.h"

namespace octavo::dense_ffn {
namespace {

using namespace simt;

constexpr int kThreads = 256, kEach = 4;

__device__ __forceinline__ float squared_relu(float x) { return x < 0.0f ? 0.0f : x * x; }

// A thread owns elements [4 i, 4 i + 4).
__global__ void __launch_bounds__(kThreads)
    kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int i = (blockIdx.x * kThreads + threadIdx.x) * kEach;
  if (i + kEach > n) return;
  Pack<float, kEach> values = load16(x + i);
  SIMT_UNROLL
  for (int j = 0; j < kEach; ++j) values[j] = squared_relu(values[j]);
  store16(y + i, values);
}

std::vector<LaunchConfig> launches(const SquaredReluArgs& a, const Device&) {
  if (a.x.size() == 0) return {};
  const std::int64_t packs = std::max<std::int64_t>(1, a.x.size() / kEach);
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
