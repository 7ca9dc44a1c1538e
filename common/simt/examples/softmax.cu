// Softmax of each row, y[c] = exp(x[c] - max) / sum exp(x - max); x, y [rows, cols] float.
//
// Grid: one warp a row, 4 warps a block. Bytes: the row is read three times, 12 rows cols, and
// written once; a row of a few thousand elements stays in the caches between the passes. FLOPs:
// about 5 rows cols.

#include "common/simt/examples/examples.h"
#include "common/simt/simt.h"

namespace octavo::simt::examples {
namespace {

constexpr int kWarps = 4;

// A lane owns columns lane, lane + 32, ...; the lanes of a warp meet in shuffles, so no shared
// memory and no barrier is needed, and a warp past the last row may leave.
__global__ void __launch_bounds__(kWarps * 32)
    softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int lane = threadIdx.x % 32;
  const int row = blockIdx.x * kWarps + threadIdx.x / 32;
  if (row >= rows) return;
  x += static_cast<std::size_t>(row) * cols;
  y += static_cast<std::size_t>(row) * cols;

  float largest = -INFINITY;
  for (int c = lane; c < cols; c += 32) largest = fmaxf(largest, x[c]);
  largest = warp_max(largest);

  float sum = 0;
  for (int c = lane; c < cols; c += 32) sum += __expf(x[c] - largest);
  const float scale = 1 / warp_sum(sum);

  for (int c = lane; c < cols; c += 32) y[c] = __expf(x[c] - largest) * scale;
}

}  // namespace

namespace SIMT_BACKEND {

void softmax(const float* x, float* y, int rows, int cols, void* stream) {
  const auto blocks = static_cast<unsigned>((rows + kWarps - 1) / kWarps);
  launch(softmax_kernel, dim3(blocks), dim3(kWarps * 32), 0, static_cast<stream_t>(stream), x, y,
         rows, cols);
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::simt::examples
