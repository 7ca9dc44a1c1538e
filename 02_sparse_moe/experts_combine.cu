// y[t] = sum_j weight[t, j] slot_y[t k + j], j ascending; slot_y [T k, D], weight, ids [T, k],
// y [T, D]. Equation 3 when every slot's expert has run.
//
// Idea: the experts write each slot's result to its own row, and only then are they added, in the
// order of the token's own choices. Adding into y as results come, atomically, would save a trip
// through memory and give other bits each time, and with other neighbours.
//
// A slot without an expert adds exactly 0: its row was never written, and 0 times what lies there
// need not be 0.
//
// Grid: x along t, y along blocks of 512 columns; 128 threads, 4 columns each. FLOPs: 2 T k D.
// Bytes: 4 T k D read, 4 T D written. Instantiations: 16 bytes at a time, and one element.

#include "02_sparse_moe/experts_launchers.h"
#include "02_sparse_moe/experts_params.h"
#include "common/simt/launch.h"

namespace octavo::sparse_moe {
namespace {

using namespace simt;

constexpr int kThreads = 128, kEach = 4;

struct CombineParams {
  const float* slot_y;  // [T k, D]
  const int* ids;       // [T, k]
  const float* weight;  // [T, k]
  float* y;             // [T, D]
  int k, E, D;
};

// A block owns 512 columns of one row of y, a thread 4.
template <bool Aligned>
__global__ void __launch_bounds__(kThreads) combine_kernel(CombineParams a) {
  const int t = blockIdx.x, d = (blockIdx.y * kThreads + threadIdx.x) * kEach;
  if (d >= a.D) return;
  const int count = min(kEach, a.D - d);
  float sum[kEach] = {};
  for (int j = 0; j < a.k; ++j) {
    const std::size_t slot = row_start(t, a.k) + j;
    const int id = a.ids[slot];
    if (id < 0 || id >= a.E) continue;
    const float w = a.weight[slot];
    const float* const from = a.slot_y + slot * a.D + d;
    if constexpr (Aligned) {
      const Pack<float, kEach> v = load16(from);
      SIMT_UNROLL
      for (int i = 0; i < kEach; ++i) sum[i] += w * v[i];
    } else {
      for (int i = 0; i < count; ++i) sum[i] += w * from[i];
    }
  }
  float* const y = a.y + row_start(t, a.D) + d;
  if constexpr (Aligned) {
    store16(y, Pack<float, kEach>{{sum[0], sum[1], sum[2], sum[3]}});
  } else {
    for (int i = 0; i < count; ++i) y[i] = sum[i];
  }
}

}  // namespace

namespace SIMT_BACKEND {

LaunchConfig combine_launch(const ExpertsArgs& a) {
  return {.kernel = "combine",
          .grid = {a.rows(), ceil_div(a.weights.width(), kThreads * kEach)},
          .block = {kThreads}};
}

void combine(Exec& exec, const ExpertsArgs& args, const float* slot_y) {
  const CombineParams a = {slot_y,
                           args.ids.data(),
                           args.weight.data(),
                           args.y.data(),
                           static_cast<int>(args.top_k()),
                           static_cast<int>(args.weights.experts()),
                           static_cast<int>(args.weights.width())};
  if (dense_ffn::rows_aligned(a.y, a.D)) {  // the workspace is aligned
    launch(combine_kernel<true>, combine_launch(args), exec.stream, a);
  } else {
    launch(combine_kernel<false>, combine_launch(args), exec.stream, a);
  }
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::sparse_moe
