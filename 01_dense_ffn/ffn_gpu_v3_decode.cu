// H = act(X Wg^T + bg) * (X Wu^T + bu), Y = H Wd^T + bd for 1 to 16 rows; X [T, D], Wg, Wu [F, D],
// Wd [D, F].
//
// Idea: the dot products of decode_rows.h, 16 rows of gate and the same 16 of up a block, so that
// the activation needs no trip through memory; then matmul_gpu_v5_decode for the second product.
// Every weight is read once, and two launches do what v1 does in four.
//
// What limits it: the bandwidth of the memory, and for small layers the two launches.
//
// Grid: one block of 256 threads for 16 columns of H, then v5's.
// FLOPs: 6 T D F when gated, else 4 T D F. Bytes: all weights once; x and H again by each block,
// from the caches. Instantiations: fp32 and bf16, each with rows of 16-byte pieces and with any.

#include "01_dense_ffn/decode_hidden.h"
#include "01_dense_ffn/gpu_versions.h"
#include "01_dense_ffn/matmul_launchers.h"
#include "common/simt/launch.h"

namespace octavo::dense_ffn {
namespace {

using namespace device;
using namespace simt;
using simt::bf16;

// A block owns 16 columns of H, thread 16 t + c the element (t, c).
template <class E, bool Aligned>
__global__ void __launch_bounds__(kDecodeThreads) hidden_kernel(HiddenParams<E> a) {
  SIMT_SHARED(DecodePartials, partials, [2]);
  const DecodeInput<E> rows{a.x, a.T, a.D};
  decode_hidden<Aligned>(a, rows, blockIdx.x * kDecodeColumns, partials);
}

LaunchConfig hidden_launch(const FfnArgs& a) {
  return {.kernel = "hidden",
          .grid = {ceil_div(a.weights.hidden(), kDecodeColumns)},
          .block = {kDecodeThreads}};
}

bool supports(const FfnArgs& a, const Device&) { return a.rows() <= kDecodeRows; }

std::int64_t workspace(const FfnArgs& a, const Device&) { return hidden_bytes(a); }

// Launches the first half; returns H, which the workspace holds.
template <class E>
E* run_hidden(Exec& exec, const FfnArgs& args) {
  const HiddenParams<E> a =
      hidden_params(args, exec.workspace.take<E>(args.rows() * args.weights.hidden()).data());
  if (rows_aligned(a)) {
    launch(hidden_kernel<E, true>, hidden_launch(args), exec.stream, a);
  } else {
    launch(hidden_kernel<E, false>, hidden_launch(args), exec.stream, a);
  }
  return a.hidden;
}

}  // namespace

namespace SIMT_BACKEND {

static std::vector<LaunchConfig> ffn_decode_launches(const FfnArgs& a, const Device& gpu) {
  std::vector<LaunchConfig> all = matmul_decode_launches(down_product(a, nullptr), gpu);
  if (!all.empty()) all.insert(all.begin(), hidden_launch(a));
  return all;
}

static void ffn_decode(Exec& exec, const FfnArgs& a, const Prepared&) {
  require(a.rows() <= kDecodeRows,
          "feed-forward layer: the decode kernel takes {} rows at most, not {}", kDecodeRows,
          a.rows());
  check_shapes(a);
  if (a.rows() == 0) return;
  const Workspace::Scope scope(exec.workspace);
  void* const hidden = a.weights.up.dtype() == DType::kBF16
                           ? static_cast<void*>(run_hidden<bf16>(exec, a))
                           : run_hidden<float>(exec, a);
  matmul_decode(exec, down_product(a, hidden), a.weights.down_bias);
}

Version<FfnArgs> ffn_gpu_v3_decode() {
  return {.name = "gpu_v3_decode",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .supports = supports,
          .workspace = workspace,
          .launches = ffn_decode_launches,
          .run = ffn_decode};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::dense_ffn
