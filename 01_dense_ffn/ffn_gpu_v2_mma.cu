// H = act(X Wg^T + bg) * (X Wu^T + bu), Y = H Wd^T + bd; X [T, D], Wg, Wu [F, D], Wd [D, F], bf16.
//
// Idea: gate and up in one kernel, dealt out to the lanes so that one has both of an element of H,
// applies the activation in registers and rounds once (hidden_tile.h). H waits in bf16 for the
// second product, matmul_gpu_v4_mma with the bias added.
//
// What it should improve: no gate and up in memory (16 T F bytes less than v1) and x read once for
// both. What limits it: what limits matmul_gpu_v4_mma.
//
// Grid: as matmul_gpu_v4_mma's for 2 F columns (F when not gated). FLOPs: 6 T D F, or 4 T D F.
// Bytes: 2 T (2 F) D (1 / m + 1 / n) read and 2 T F written, then those of the second product.
// Instantiations: both tiles, each with rows of 16-byte pieces and with any rows.

#include "01_dense_ffn/gpu_versions.h"
#include "01_dense_ffn/hidden_tile.h"
#include "01_dense_ffn/matmul_launchers.h"
#include "common/simt/launch.h"

namespace octavo::dense_ffn {
namespace {

using namespace device;
using namespace simt;
using simt::bf16;

// A block owns kM rows and kN / 2 columns of H (kN when not gated).
template <class Tile, bool Aligned>
__global__ void __launch_bounds__(Tile::kThreads, Aligned ? 2 : 1)
    hidden_kernel(HiddenParams<bf16> a) {
  const int t0 = blockIdx.x * Tile::kM;
  const int f0 = blockIdx.y * (a.gate != nullptr ? Tile::kN / 2 : Tile::kN);
  hidden_tile<Tile, Aligned>(a, MmaRows{a.x, t0, a.T}, DealtRows{a.gate, a.up, f0, a.F}, t0,
                             *dynamic_shared<typename Tile::Stages>());
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
