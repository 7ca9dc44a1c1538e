// y_t = sum_j weight_tj Expert_{ids_tj}(x_t); x [T, D], gate, up [E, F, D], down [E, D, F] bf16,
// y [T, D].
//
// Idea: products of one shape in one launch, as a batched matmul wants them. Every expert gets a
// batch of C rows; a kernel copies its rows of x there and fills the rest with zeros; then two
// batched products on the tensor cores, and the rows that exist go back to their slots.
//
// What it should improve: four launches in place of 2 E + 1, and tensor cores. What limits it: the
// padding. The launch is made before anyone knows the counts, so C is the most rows an expert can
// get, T k, and of E C rows multiplied E - 1 of E are zeros. A smaller C needs a look at the counts
// from the host, or drops tokens. It loses to v3 always, and to v1 as soon as E is large.
//
// Grid: x along C, y along columns, z along experts; 128 threads for 64 x 64. FLOPs: 6 E T k D F
// when gated, else 4 E T k D F. Bytes: E T k (2 D + 2 F) more written than v3, and read again.
// Instantiations: rows of 16-byte pieces and any rows, of two kernels.

#include "02_sparse_moe/experts_down_tile.h"
#include "02_sparse_moe/experts_launchers.h"
#include "02_sparse_moe/gpu_versions.h"
#include "common/simt/launch.h"

namespace octavo::sparse_moe {
namespace {

using namespace device;
using namespace dense_ffn::device;
using namespace simt;
using simt::bf16;

using Tile = MmaSmallTile;
constexpr int kGatherThreads = 128;
constexpr std::int64_t kPaddedRows = 1 << 18;  // beyond, the padding takes gigabytes

// Every expert's batch of C rows.
struct Padded {
  bf16* x;       // [E, C, D]
  bf16* hidden;  // [E, C, F]
  int C;
};

// A block owns one row of one expert's batch.
__global__ void __launch_bounds__(kGatherThreads) gather_kernel(ExpertsParams<bf16> a, Padded p) {
  const int r = blockIdx.x, e = blockIdx.y, i = a.offsets[e] + r;
  const bf16* const from = i < a.offsets[e + 1] ? a.x + row_start(a.order[i] / a.k, a.D) : nullptr;
  bf16* const to = p.x + row_start(e, r, p.C, a.D);
  for (int d = threadIdx.x; d < a.D; d += kGatherThreads) {
    to[d] = from != nullptr ? from[d] : to_bf16(0.0f);
  }
}

// A block owns 64 rows of one expert's batch by 32 columns of H (64 when not gated).
template <bool Aligned>
__global__ void __launch_bounds__(Tile::kThreads, Aligned ? 2 : 1)
    hidden_kernel(ExpertsParams<bf16> a, Padded p) {
  const int e = blockIdx.z, r0 = blockIdx.x * Tile::kM;
  const int f0 = blockIdx.y * (a.gate != nullptr ? Tile::kN / 2 : Tile::kN);
  dense_ffn::HiddenParams<bf16> layer = a.layer(e, 0, p.C);
  layer.hidden = p.hidden + row_start(e, 0, p.C, a.F);
  hidden_tile<Tile, Aligned>(layer, MmaRows{p.x + row_start(e, 0, p.C, a.D), r0, p.C},
                             DealtRows{layer.gate, layer.up, f0, a.F}, r0,
                             *dynamic_shared<typename Tile::Stages>());
}

// A block owns 64 rows of one expert's batch by 64 columns, and stores those rows that are slots.
template <bool Aligned>
__global__ void __launch_bounds__(Tile::kThreads, Aligned ? 2 : 1)
    down_kernel(ExpertsParams<bf16> a, Padded p) {
  const int e = blockIdx.z, r0 = blockIdx.x * Tile::kM, first = a.offsets[e] + r0;
  down_tile<Tile, Aligned>(a, e, p.hidden + row_start(e, r0, p.C, a.F), p.C - r0, a.order + first,
                           a.offsets[e + 1] - first, blockIdx.y * Tile::kN,
                           *dynamic_shared<typename Tile::Stages>());
}

LaunchConfig batched(std::string_view kernel, const ExpertsArgs& a, std::int64_t columns) {
  return {.kernel = kernel,
          .grid = {ceil_div(a.slots(), Tile::kM), ceil_div(columns, Tile::kN), a.weights.experts()},
          .block = {Tile::kThreads},
          .shared_bytes = dense_ffn::kMmaSmall.shared_bytes()};
}

std::vector<LaunchConfig> launches(const ExpertsArgs& a, const Device&) {
  if (a.rows() == 0) return {};
  const ExpertStack& w = a.weights;
  return {{.kernel = "gather", .grid = {a.slots(), w.experts()}, .block = {kGatherThreads}},
          batched("hidden", a, w.hidden() * (w.gated() ? 2 : 1)),
          batched("down", a, w.width()),
          sparse_moe::SIMT_BACKEND::combine_launch(a)};
}

std::int64_t padded_rows(const ExpertsArgs& a) { return a.weights.experts() * a.slots(); }

std::int64_t workspace(const ExpertsArgs& a, const Device&) {
  return experts_bytes(a) + Workspace::bytes_for<bf16>(padded_rows(a) * a.weights.width()) +
         Workspace::bytes_for<bf16>(padded_rows(a) * a.weights.hidden());
}

template <bool Aligned>
void launch_batches(Exec& exec, const std::vector<LaunchConfig>& all, const ExpertsParams<bf16>& a,
                    const Padded& p) {
  launch(gather_kernel, all[0], exec.stream, a, p);
  launch(hidden_kernel<Aligned>, all[1], exec.stream, a, p);
  launch(down_kernel<Aligned>, all[2], exec.stream, a, p);
}

void run(Exec& exec, const ExpertsArgs& args, const Prepared&) {
  const Workspace::Scope scope(exec.workspace);
  const ExpertsParams<bf16> a = params_of<bf16>(args, exec.workspace);
  if (args.rows() == 0) return;
  const Padded p = {exec.workspace.take<bf16>(padded_rows(args) * a.D).data(),
                    exec.workspace.take<bf16>(padded_rows(args) * a.F).data(),
                    static_cast<int>(args.slots())};
  const std::vector<LaunchConfig> all = launches(args, exec.device);
  if (rows_aligned(a)) {
    launch_batches<true>(exec, all, a, p);
  } else {
    launch_batches<false>(exec, all, a, p);
  }
  sparse_moe::SIMT_BACKEND::combine(exec, args, a.slot_y);
}

}  // namespace

namespace SIMT_BACKEND {

Version<ExpertsArgs> experts_gpu_v2_padded() {
  return {
      .name = "gpu_v2_padded",
      .backend = SIMT_THIS_BACKEND,
      .dtypes = {DType::kBF16},
      .batch_invariant = true,
      .supports = [](const ExpertsArgs& a, const Device&) { return padded_rows(a) <= kPaddedRows; },
      .workspace = workspace,
      .launches = launches,
      .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::sparse_moe
