// y_t = sum_j weight_tj Expert_{ids_tj}(x_t); x [T, D], gate, up [E, F, D], down [E, D, F],
// y [T, D].
//
// Idea: the definition. One expert after another, two launches each, one for H and one for the
// product with down; then the weighted sum. A thread owns one element and finds its row of x
// through the order of the slots.
//
// What limits it: 2 E + 1 launches, most of them with next to no work, one after another on a GPU
// that could run all experts at once; a grid for T k rows an expert, since the host does not know
// how many there are; and inside a launch what limits matmul_gpu_v1_naive.
//
// Grid: for each expert T k rows by F, then by D, in blocks of 8 x 32; blocks past the expert's
// last row leave. FLOPs: 6 T k D F when gated, else 4 T k D F. Bytes asked for: as many elements.

#include "02_sparse_moe/experts_launchers.h"
#include "02_sparse_moe/experts_params.h"
#include "02_sparse_moe/gpu_versions.h"
#include "common/simt/launch.h"

namespace octavo::sparse_moe {
namespace {

using namespace simt;
using simt::bf16;

constexpr int kBlockN = 32, kBlockRows = 8;

// k ascending, so the sum of a row does not depend on the other rows.
template <class W>
__device__ float dot(const W* x, const W* w, int K) {
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += to_float(x[k]) * to_float(w[k]);
  return sum;
}

// A thread owns one element of H: place i of expert e, column f.
template <class W>
__global__ void __launch_bounds__(kBlockN* kBlockRows) hidden_kernel(ExpertsParams<W> a, int e) {
  const int f = blockIdx.y * kBlockN + threadIdx.x, r = blockIdx.x * kBlockRows + threadIdx.y;
  // Rows first: the grid is for T k rows behind any expert's first place.
  if (r >= a.offsets[e + 1] - a.offsets[e] || f >= a.F) return;
  const int i = a.offsets[e] + r;
  const W* const x = a.x + row_start(a.order[i] / a.k, a.D);
  const std::size_t row = row_start(e, f, a.F, a.D);
  const float up = dot(x, a.up + row, a.D);
  const float gate = a.gate != nullptr ? dot(x, a.gate + row, a.D) : 0.0f;
  a.hidden[row_start(i, a.F) + f] =
      from_float<W>(dense_ffn::hidden_value(a.layer(e, i, 1), f, gate, up));
}

// A thread owns one element of a slot's result: place i of expert e, column d.
template <class W>
__global__ void __launch_bounds__(kBlockN* kBlockRows) down_kernel(ExpertsParams<W> a, int e) {
  const int d = blockIdx.y * kBlockN + threadIdx.x, r = blockIdx.x * kBlockRows + threadIdx.y;
  // Rows first: the grid is for T k rows behind any expert's first place.
  if (r >= a.offsets[e + 1] - a.offsets[e] || d >= a.D) return;
  const int i = a.offsets[e] + r;
  a.slot_y[row_start(a.order[i], a.D) + d] =
      dot(a.hidden + row_start(i, a.F), a.down + row_start(e, d, a.D, a.F), a.F);
}

LaunchConfig loop_launch(std::string_view kernel, const ExpertsArgs& a, std::int64_t columns) {
  return {.kernel = kernel,
          .grid = {ceil_div(a.slots(), kBlockRows), ceil_div(columns, kBlockN)},
          .block = {kBlockN, kBlockRows}};
}

template <class W>
void run_as(Exec& exec, const ExpertsArgs& args) {
  const Workspace::Scope scope(exec.workspace);
  const ExpertsParams<W> a = params_of<W>(args, exec.workspace);
  const LaunchConfig hidden = loop_launch("hidden", args, a.F),
                     down = loop_launch("down", args, a.D);
  for (int e = 0; e < a.E; ++e) {
    launch(hidden_kernel<W>, hidden, exec.stream, a, e);
    launch(down_kernel<W>, down, exec.stream, a, e);
  }
  sparse_moe::SIMT_BACKEND::combine(exec, args, a.slot_y);
}

std::int64_t workspace(const ExpertsArgs& a, const Device&) { return experts_bytes(a); }

std::vector<LaunchConfig> launches(const ExpertsArgs& a, const Device&) {
  std::vector<LaunchConfig> all;
  if (a.rows() == 0) return all;
  for (std::int64_t e = 0; e < a.weights.experts(); ++e) {
    all.push_back(loop_launch("hidden", a, a.weights.hidden()));
    all.push_back(loop_launch("down", a, a.weights.width()));
  }
  all.push_back(sparse_moe::SIMT_BACKEND::combine_launch(a));
  return all;
}

void run(Exec& exec, const ExpertsArgs& a, const Prepared&) {
  check_shapes(a);
  if (a.rows() == 0) return;
  if (a.weights.up.dtype() == DType::kBF16) return run_as<bf16>(exec, a);
  run_as<float>(exec, a);
}

}  // namespace

namespace SIMT_BACKEND {

Version<ExpertsArgs> experts_gpu_v1_loop() {
  return {.name = "gpu_v1_loop",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .workspace = workspace,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::sparse_moe
