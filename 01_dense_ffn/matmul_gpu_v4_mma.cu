// y[t, n] = sum_k x[t, k] w[n, k] (+ bias[n]); x [T, K], w [N, K] bf16, y [T, N] float.
//
// Idea: the tensor cores multiply 16 x 16 by 16 x 8 in one instruction of a warp, and everything
// else has to keep up with them: global memory goes to shared memory 16 bytes a thread without
// passing through registers, two steps ahead; from there ldmatrix brings four 8 x 8 at once in the
// layout that mma wants; and a swizzle keeps both free of bank conflicts. mma_tile.h has the loop.
//
// What it should improve: arithmetic, 16 times the FMA units' on an A100; and bytes, by tiles of
// 128 x 128. What limits it: on an A100 shared memory, which a warp's 64 x 32 sums keep about as
// busy as the tensor cores; on Hopper mma.sync itself, since only wgmma reaches its full rate. With
// few rows the weights' bytes are the limit, and few tiles leave multiprocessors idle (v5).
//
// Grid: x along t, y along n; 256 threads for 128 x 128 of y, or 128 for 64 x 64 (choose_config).
// FLOPs: 2 T N K. Bytes: 2 T N K (1 / m + 1 / n) read, 4 T N written.
// Instantiations: both tiles, each with rows of 16-byte pieces and with any rows.

#include "01_dense_ffn/gpu_versions.h"
#include "01_dense_ffn/matmul_launchers.h"
#include "01_dense_ffn/mma_tile.h"
#include "common/simt/launch.h"

namespace octavo::dense_ffn {
namespace {

using namespace device;
using namespace simt;
using simt::bf16;

// Two neighbours of a row of y; one where the row ends.
__device__ __forceinline__ void store_pair(const MatmulParams<bf16>& a, int t, int n, float first,
                                           float second) {
  if (t >= a.T || n >= a.N) return;
  const bool both = n + 1 < a.N;
  if (a.bias != nullptr) {
    first += a.bias[n];
    if (both) second += a.bias[n + 1];
  }
  float* const y = a.y + static_cast<std::size_t>(t) * a.N + n;
  if (a.N % 2 == 0 && is_aligned(a.y, 8)) {
    store_pack(y, Pack<float, 2>{{first, second}});
  } else {
    y[0] = first;
    if (both) y[1] = second;
  }
}

// A block owns kM x kN of y, a warp kWarpM x kWarpN of it as fragments of 16 x 8, a lane two pairs
// of neighbours in each.
template <class Tile, bool Aligned>
__global__ void __launch_bounds__(Tile::kThreads, Aligned ? 2 : 1)
    mma_kernel(MatmulParams<bf16> a) {
  const int t0 = blockIdx.x * Tile::kM, n0 = blockIdx.y * Tile::kN, lane = threadIdx.x % 32;
  typename Tile::Sums sum = {};
  mma_sum<Tile, Aligned>(sum, *dynamic_shared<typename Tile::Stages>(), MmaRows{a.x, t0, a.T},
                         MmaRows{a.w, n0, a.N}, a.K);
  SIMT_UNROLL
  for (int i = 0; i < Tile::kI; ++i) {
    SIMT_UNROLL
    for (int j = 0; j < Tile::kJ; ++j) {
      const int t = t0 + Tile::warp_m() + i * 16 + lane / 4;
      const int n = n0 + Tile::warp_n() + j * 8 + lane % 4 * 2;
      store_pair(a, t, n, sum[i][j][0], sum[i][j][1]);
      store_pair(a, t + 8, n, sum[i][j][2], sum[i][j][3]);
    }
  }
}

template <class Tile>
void launch_tile(Exec& exec, const LaunchConfig& l, const MatmulParams<bf16>& a) {
  static_assert(sizeof(typename Tile::Stages) ==
                kMmaStages * (Tile::kM + Tile::kN) * kMmaStep * sizeof(bf16));
  if (rows_aligned(a.x, a.K) && rows_aligned(a.w, a.K)) {
    launch(mma_kernel<Tile, true>, l, exec.stream, a);
  } else {
    launch(mma_kernel<Tile, false>, l, exec.stream, a);
  }
}

}  // namespace

namespace SIMT_BACKEND {

std::vector<LaunchConfig> matmul_mma_launches(const MatmulArgs& a, const Device& gpu) {
  if (a.y.size() == 0) return {};
  return {mma_launch(choose_config(a.rows(), a.outputs(), gpu), a.rows(), a.outputs())};
}

void matmul_mma(Exec& exec, const MatmulArgs& args, View<const float, 1> bias) {
  const MatmulParams<bf16> a = params_of<bf16>(args, bias);
  for (const LaunchConfig& l : matmul_mma_launches(args, exec.device)) {
    if (l.threads() == kMmaLarge.threads) {
      launch_tile<MmaLargeTile>(exec, l, a);
    } else {
      launch_tile<MmaSmallTile>(exec, l, a);
    }
  }
}

Version<MatmulArgs> matmul_gpu_v4_mma() {
  return {.name = "gpu_v4_mma",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kBF16},
          .batch_invariant = true,
          .launches = matmul_mma_launches,
          .run = [](Exec& exec, const MatmulArgs& a, const Prepared&) { matmul_mma(exec, a, {}); }};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::dense_ffn
