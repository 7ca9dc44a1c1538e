// Running sums of each row, y[c] = x[0] + ... + x[c]; x, y [rows, cols] int. Bytes: 8 rows cols.
//
// Grid: one block a row. The block walks the row in chunks of 256 and carries the sum on. A chunk
// is scanned on three levels: within a warp by shuffles, over the warps' totals by one tile of 8
// lanes, then added together.

#include "common/simt/examples/examples.h"
#include "common/simt/simt.h"

namespace octavo::simt::examples {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

// In lane r of a tile: the sum of `value` over lanes 0 to r (Hillis and Steele, "Data parallel
// algorithms").
template <int N>
__device__ int tile_scan(WarpTile<N> tile, int value) {
  for (int step = 1; step < N; step *= 2) {
    const int below = tile.shuffle_up(value, static_cast<unsigned>(step));
    if (tile.rank() >= step) value += below;
  }
  return value;
}

// A thread owns column `start + threadIdx.x` of each chunk; total[w] is shared by the block.
__global__ void __launch_bounds__(kThreads)
    scan_kernel(const int* __restrict__ x, int* __restrict__ y, int cols) {
  SIMT_SHARED(int, total, [kWarps]);
  const int thread = threadIdx.x, warp = thread / 32;
  x += static_cast<std::size_t>(blockIdx.x) * cols;
  y += static_cast<std::size_t>(blockIdx.x) * cols;
  int carry = 0;
  for (int start = 0; start < cols; start += kThreads) {
    const int c = start + thread;
    const int sum = tile_scan(WarpTile<32>(), c < cols ? x[c] : 0);
    if (thread % 32 == 31) total[warp] = sum;
    __syncthreads();  // the totals of all warps are there
    if (warp == 0) {
      const int scanned = tile_scan(WarpTile<kWarps>(), thread < kWarps ? total[thread] : 0);
      if (thread < kWarps) total[thread] = scanned;
    }
    __syncthreads();  // they are running sums now
    if (c < cols) y[c] = carry + sum + (warp > 0 ? total[warp - 1] : 0);
    carry += total[kWarps - 1];
    __syncthreads();  // everyone has read them: the next chunk may overwrite
  }
}

}  // namespace

namespace SIMT_BACKEND {

void scan(const int* x, int* y, int rows, int cols, void* stream) {
  launch(scan_kernel, dim3(static_cast<unsigned>(rows)), dim3(kThreads), 0,
         static_cast<stream_t>(stream), x, y, cols);
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::simt::examples
