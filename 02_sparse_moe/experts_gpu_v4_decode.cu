// y_t = sum_j weight_tj Expert_{ids_tj}(x_t) for few tokens; x [T, D], gate, up [E, F, D],
// down [E, D, F], y [T, D].
//
// Idea: with few tokens the layer is the reading of the weights of the experts they chose. The
// slots are taken by expert, up to 16 at a time (the tile list of experts_tiles.h with m = 16), and
// a block multiplies 16 rows of an expert's weights by all of those rows of x, with the dot
// products of the dense layer's decode kernels: a weight is read once however many tokens share its
// expert, straight to registers. Slot by slot, k T times as many reads would hit the cache at best.
//
// What it should improve: bytes in flight. 16 rows of weights a block are many small blocks where
// v3's tiles are few, and no shared memory lies between a weight and its use. What limits it: the
// memory's bandwidth; for small experts the three launches.
//
// Grid: x along columns in 16s, y along the list; 256 threads. FLOPs: 6 T k D F when gated, else
// 4 T k D F. Bytes: the weights of the experts that are reached, once for every 16 of their rows; x
// (twice when gated) and H again by each block, from the caches.
// Instantiations: fp32 and bf16, each with rows of 16-byte pieces and with any, of two kernels.

#include "01_dense_ffn/decode_hidden.h"
#include "02_sparse_moe/experts_launchers.h"
#include "02_sparse_moe/experts_params.h"
#include "02_sparse_moe/experts_tiles.h"
#include "02_sparse_moe/gpu_versions.h"
#include "common/simt/launch.h"

namespace octavo::sparse_moe {
namespace {

using namespace device;
using namespace dense_ffn::device;
using namespace simt;
using simt::bf16;

// Rows an expert, on an even spread, up to which most experts have no more than 16.
constexpr std::int64_t kFewRows = 4;

// Row t is the row of the token of a slot.
struct TokenOf {
  const int* token;  // [kDecodeRows] in shared memory
  __device__ int operator()(int t) const { return token[t]; }
};

// A block owns up to 16 places of one expert by 16 columns of H, thread 16 t + c the element (t,
// c).
template <class W, bool Aligned>
__global__ void __launch_bounds__(kDecodeThreads) hidden_kernel(ExpertsParams<W> a) {
  SIMT_SHARED(DecodePartials, partials, [2]);
  SIMT_SHARED(int, token, [kDecodeRows]);
  const ExpertTile tile = find_tile(a.offsets, a.E, kDecodeRows, blockIdx.y);
  if (tile.expert < 0) return;
  for (int t = threadIdx.x; t < tile.rows; t += kDecodeThreads) {
    token[t] = a.order[tile.first + t] / a.k;
  }
  __syncthreads();  // the tokens are there
  const DecodeInput<W, TokenOf> rows{a.x, tile.rows, a.D, TokenOf{token}};
  decode_hidden<Aligned>(a.layer(tile.expert, tile.first, tile.rows), rows,
                         blockIdx.x * kDecodeColumns, partials);
}

// A block owns up to 16 places of one expert by 16 columns of their slots' results, thread 16 t + c
// the element (t, c).
// One block a multiprocessor is enough to ask for: the compiler would else spill to fit two.
template <class W, bool Aligned>
__global__ void __launch_bounds__(kDecodeThreads, 1) down_kernel(ExpertsParams<W> a) {
  SIMT_SHARED(DecodePartials, partials, [1]);
  const ExpertTile tile = find_tile(a.offsets, a.E, kDecodeRows, blockIdx.y);
  if (tile.expert < 0) return;
  const int d0 = blockIdx.x * kDecodeColumns;
  const W* const down = a.down + row_start(tile.expert, 0, a.D, a.F);
  const auto w_row = [&](int c) -> const W* {
    return d0 + c < a.D ? down + row_start(d0 + c, a.F) : nullptr;
  };
  const float sum = decode_sum<Aligned>(
      DecodeInput<W>{a.hidden + row_start(tile.first, a.F), tile.rows, a.F}, w_row, partials[0]);
  const int t = threadIdx.x / kDecodeColumns, d = d0 + threadIdx.x % kDecodeColumns;
  if (t >= tile.rows || d >= a.D) return;
  a.slot_y[row_start(a.order[tile.first + t], a.D) + d] = sum;
}

LaunchConfig list_launch(std::string_view kernel, const ExpertsArgs& a, std::int64_t columns) {
  return {.kernel = kernel,
          .grid = {ceil_div(columns, kDecodeColumns),
                   most_tiles(a.slots(), a.weights.experts(), kDecodeRows)},
          .block = {kDecodeThreads}};
}

std::vector<LaunchConfig> launches(const ExpertsArgs& a, const Device&) {
  if (a.rows() == 0) return {};
  const ExpertStack& w = a.weights;
  return {list_launch("hidden", a, w.hidden()), list_launch("down", a, w.width()),
          sparse_moe::SIMT_BACKEND::combine_launch(a)};
}

template <class W, bool Aligned>
void launch_list(Exec& exec, const std::vector<LaunchConfig>& all, const ExpertsParams<W>& a) {
  launch(hidden_kernel<W, Aligned>, all[0], exec.stream, a);
  launch(down_kernel<W, Aligned>, all[1], exec.stream, a);
}

template <class W>
void run_as(Exec& exec, const ExpertsArgs& args) {
  const Workspace::Scope scope(exec.workspace);
  const ExpertsParams<W> a = params_of<W>(args, exec.workspace);
  const std::vector<LaunchConfig> all = launches(args, exec.device);
  if (rows_aligned(a)) {
    launch_list<W, true>(exec, all, a);
  } else {
    launch_list<W, false>(exec, all, a);
  }
  sparse_moe::SIMT_BACKEND::combine(exec, args, a.slot_y);
}

bool supports(const ExpertsArgs& a, const Device&) {
  return a.rows() <= kDecodeRows || a.slots() <= kFewRows * a.weights.experts();
}

std::int64_t workspace(const ExpertsArgs& a, const Device&) { return experts_bytes(a); }

void run(Exec& exec, const ExpertsArgs& a, const Prepared&) {
  check_shapes(a);
  if (a.rows() == 0) return;
  if (a.weights.up.dtype() == DType::kBF16) return run_as<bf16>(exec, a);
  run_as<float>(exec, a);
}

}  // namespace

namespace SIMT_BACKEND {

Version<ExpertsArgs> experts_gpu_v4_decode() {
  return {.name = "gpu_v4_decode",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .supports = supports,
          .workspace = workspace,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::sparse_moe
