// H = act(X Wg^T + bg) * (X Wu^T + bu), Y = H Wd^T + bd; X [T, D], Wg, Wu [F, D], Wd [D, F], bf16.
//
// Idea: gate and up in one kernel. A tile's rows of weights come from both in turns of 8, so that
// the same lane ends with gate and up of the same element of H, applies the activation in registers
// and rounds once. H waits in bf16 for the second product, matmul_gpu_v4_mma with the bias added.
//
// Which rows of a tile are which f is free, since they are copied one by one. They are dealt out so
// that a lane's f are neighbours, and 4 lanes write whole sectors of H: fragments would give each
// lane pairs 8 apart, and sectors half used.
//
// What it should improve: no gate and up in memory (16 T F bytes less than v1) and x read once for
// both. What limits it: what limits matmul_gpu_v4_mma.
//
// Grid: as matmul_gpu_v4_mma's for 2 F columns (F when not gated). FLOPs: 6 T D F, or 4 T D F.
// Bytes: 2 T (2 F) D (1 / m + 1 / n) read and 2 T F written, then those of the second product.
// Instantiations: both tiles, each with rows of 16-byte pieces and with any rows.

#include "01_dense_ffn/ffn_params.h"
#include "01_dense_ffn/gpu_versions.h"
#include "01_dense_ffn/matmul_launchers.h"
#include "01_dense_ffn/mma_tile.h"
#include "common/simt/launch.h"

namespace octavo::dense_ffn {
namespace {

using namespace device;
using namespace simt;
using simt::bf16;

// How the 32 tile rows of a warp are dealt out: fragment j of 8 is gate for even j and up for odd
// when gated, and its row c holds f = (c / 2) 2 groups + 2 group + c % 2 of the warp's 8 groups.
struct Deal {
  bool gated;
  __device__ int groups() const { return gated ? 2 : 4; }
  __device__ int group(int j) const { return gated ? j / 2 : j; }
  __device__ int f(int r) const {  // of tile row r, counted from the block's first
    return r / 32 * 8 * groups() + r % 8 / 2 * 2 * groups() + group(r % 32 / 8) * 2 + r % 2;
  }
};

// The weights' rows of a tile; `first` is the block's first f.
struct DealtRows {
  const bf16* gate;
  const bf16* up;
  int first, F;
  __device__ const bf16* operator()(int r, int D) const {
    const int f = first + Deal{gate != nullptr}.f(r);
    const bf16* const matrix = gate != nullptr && r / 8 % 2 == 0 ? gate : up;
    return f < F ? matrix + static_cast<std::size_t>(f) * D : nullptr;
  }
};

// N neighbours of row t of H from f on.
template <int N>
__device__ __forceinline__ void store_hidden(const HiddenParams<bf16>& a, int t, int f,
                                             const float (&v)[N]) {
  if (t >= a.T || f >= a.F) return;
  bf16* const hidden = a.hidden + static_cast<std::size_t>(t) * a.F + f;
  if (a.F % N == 0) {  // the workspace is aligned
    Pack<bf16, N> rounded;
    SIMT_UNROLL
    for (int i = 0; i < N; ++i) rounded[i] = to_bf16(v[i]);
    store_pack(hidden, rounded);
  } else {
    for (int i = 0; i < N && f + i < a.F; ++i) hidden[i] = to_bf16(v[i]);
  }
}

// H from the sums of one row t: lane / 4 gives the row of a fragment, lane % 4 the columns.
template <bool Gated, int J>
__device__ __forceinline__ void finish_row(const HiddenParams<bf16>& a, int t, int f,
                                           const float (&sum)[J][4], int half) {
  constexpr int kCount = Gated ? J : 2 * J;  // neighbours that this lane holds
  float v[kCount];
  SIMT_UNROLL
  for (int i = 0; i < kCount; ++i) {
    const int at = half * 2 + i % 2, n = f + i < a.F ? f + i : 0;
    if constexpr (Gated) {
      v[i] = hidden_value(a, n, sum[i / 2 * 2][at], sum[i / 2 * 2 + 1][at]);
    } else {
      v[i] = hidden_value(a, n, 0.0f, sum[i / 2][at]);
    }
  }
  store_hidden(a, t, f, v);
}

// A block owns kM rows and kN / 2 columns of H (kN when not gated), a lane 4 (8) neighbours of each
// of its rows.
template <class Tile, bool Aligned>
__global__ void __launch_bounds__(Tile::kThreads, Aligned ? 2 : 1)
    hidden_kernel(HiddenParams<bf16> a) {
  static_assert(Tile::kJ == 4 && Tile::kWarpN == 32);
  const bool gated = a.gate != nullptr;
  const int lane = threadIdx.x % 32, groups = Deal{gated}.groups();
  const int t0 = blockIdx.x * Tile::kM, f0 = blockIdx.y * (gated ? Tile::kN / 2 : Tile::kN);
  typename Tile::Sums sum = {};
  mma_sum<Tile, Aligned>(sum, *dynamic_shared<typename Tile::Stages>(), MmaRows{a.x, t0, a.T},
                         DealtRows{a.gate, a.up, f0, a.F}, a.D);
  const int f = f0 + Tile::warp_n() / 32 * 8 * groups + lane % 4 * 2 * groups;
  SIMT_UNROLL
  for (int i = 0; i < Tile::kI; ++i) {
    SIMT_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int t = t0 + Tile::warp_m() + i * 16 + lane / 4 + half * 8;
      if (gated) {
        finish_row<true>(a, t, f, sum[i], half);
      } else {
        finish_row<false>(a, t, f, sum[i], half);
      }
    }
  }
}

LaunchConfig hidden_launch(const FfnArgs& a, const Device& gpu) {
  const std::int64_t columns = a.weights.hidden() * (a.weights.gated() ? 2 : 1);
  return mma_launch(choose_config(a.rows(), columns, gpu), a.rows(), columns);
}

template <class Tile>
void launch_tile(Exec& exec, const LaunchConfig& l, const HiddenParams<bf16>& a) {
  if (rows_aligned(a)) {
    launch(hidden_kernel<Tile, true>, l, exec.stream, a);
  } else {
    launch(hidden_kernel<Tile, false>, l, exec.stream, a);
  }
}

std::int64_t workspace(const FfnArgs& a, const Device&) { return hidden_bytes(a); }

}  // namespace

namespace SIMT_BACKEND {

static std::vector<LaunchConfig> ffn_mma_launches(const FfnArgs& a, const Device& gpu) {
  std::vector<LaunchConfig> all = matmul_mma_launches(down_product(a, nullptr), gpu);
  if (!all.empty()) all.insert(all.begin(), hidden_launch(a, gpu));
  return all;
}

static void ffn_mma(Exec& exec, const FfnArgs& args, const Prepared&) {
  check_shapes(args);
  const Workspace::Scope scope(exec.workspace);
  const HiddenParams<bf16> a =
      hidden_params(args, exec.workspace.take<bf16>(args.rows() * args.weights.hidden()).data());
  if (a.T == 0) return;
  const LaunchConfig l = hidden_launch(args, exec.device);
  if (l.threads() == kMmaLarge.threads) {
    launch_tile<MmaLargeTile>(exec, l, a);
  } else {
    launch_tile<MmaSmallTile>(exec, l, a);
  }
  matmul_mma(exec, down_product(args, a.hidden), args.weights.down_bias);
}

Version<FfnArgs> ffn_gpu_v2_mma() {
  return {.name = "gpu_v2_mma",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kBF16},
          .batch_invariant = true,
          .workspace = workspace,
          .launches = ffn_mma_launches,
          .run = ffn_mma};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::dense_ffn
