// Transpose y[c, r] = x[r, c]; x [rows, cols], y [cols, rows] float. Bytes: each element read and
// written once, 8 rows cols; no FLOPs. Three versions, for the two costs a memory access can have:
//
//   naive    a warp reads 32 neighbours and writes 32 elements `rows` apart: 32 sectors where 4
//            would do
//   tiled    through a 32 x 32 tile in shared memory, so that both sides of global memory are
//            contiguous; but the tile's columns lie in one bank, and a warp that reads a column
//            takes 32 turns
//   padded   rows of 33 elements: a column's elements lie in 32 different banks

#include "common/simt/examples/examples.h"
#include "common/simt/simt.h"

namespace octavo::simt::examples {
namespace {

constexpr int kTile = 32, kRows = 8;  // a block is 32 x 8 threads and moves a tile of 32 x 32

__global__ void __launch_bounds__(kTile* kRows)
    naive_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int c = blockIdx.x * kTile + threadIdx.x;
  for (int i = threadIdx.y; i < kTile; i += kRows) {
    const int r = blockIdx.y * kTile + i;
    if (r < rows && c < cols)
      y[static_cast<std::size_t>(c) * rows + r] = x[static_cast<std::size_t>(r) * cols + c];
  }
}

// Thread (tx, ty) moves column tx of rows ty, ty + 8, ... of the tile in, then row ... of the
// transposed tile out.
template <int Pad>
__global__ void __launch_bounds__(kTile* kRows)
    tiled_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  SIMT_SHARED(float, tile, [kTile][kTile + Pad]);
  const int tx = threadIdx.x;
  const int row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  for (int i = threadIdx.y; i < kTile; i += kRows) {
    if (row0 + i < rows && col0 + tx < cols) {
      tile[i][tx] = x[static_cast<std::size_t>(row0 + i) * cols + col0 + tx];
    }
  }
  __syncthreads();
  for (int i = threadIdx.y; i < kTile; i += kRows) {
    if (col0 + i < cols && row0 + tx < rows) {
      y[static_cast<std::size_t>(col0 + i) * rows + row0 + tx] = tile[tx][i];
    }
  }
}

}  // namespace

namespace SIMT_BACKEND {

void transpose(Transpose version, const float* x, float* y, int rows, int cols, void* stream) {
  const auto tiles = [](int n) { return static_cast<unsigned>((n + kTile - 1) / kTile); };
  const dim3 grid(tiles(cols), tiles(rows)), block(kTile, kRows);
  const auto kernel = version == Transpose::kNaive   ? naive_kernel
                      : version == Transpose::kTiled ? tiled_kernel<0>
                                                     : tiled_kernel<1>;
  launch(kernel, grid, block, 0, static_cast<stream_t>(stream), x, y, rows, cols);
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::simt::examples
