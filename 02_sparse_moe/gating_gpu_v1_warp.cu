// ids, weights = the k largest of z = logits (+ bias), and their softmax; logits [T, E], bias [E],
// ids, weights [T, k].
//
// Idea: one warp a row. Lanes take every 32nd expert; shuffles give the warp the maximum, the sum
// and, k times, the first of what is left: the larger score, on a tie the lower id. A chosen expert
// is marked in a bit of its lane and its score left alone, for a score may be -inf itself.
//
// What limits it: the row is read k + 2 times, from the caches after the first; and with few
// experts most lanes have none: 24 of 32 idle for E = 8.
//
// Grid: blocks of 4 warps. FLOPs: 3 T E. Bytes: (k + 2) 4 T E asked for, 4 T E of them from memory,
// 8 T k written.

#include "02_sparse_moe/gating_tile.h"
#include "02_sparse_moe/gpu_versions.h"
#include "common/simt/launch.h"

namespace octavo::sparse_moe {
namespace {

using namespace device;
using namespace simt;

constexpr int kWarps = 4;

// One row: lane l owns experts l, l + 32, ..., each a bit of its `chosen`.
struct Row {
  const float* logits;
  const float* bias;
  int E;
  unsigned chosen = 0;

  __device__ float score(int e) const { return bias != nullptr ? logits[e] + bias[e] : logits[e]; }
  __device__ Candidate next() const {
    Candidate best = {-INFINITY, kNobody};
    int i = 0;
    for (int e = threadIdx.x % 32; e < E; e += 32, ++i) {
      const Candidate c = {score(e), e};
      if (!(chosen >> i & 1) && before(c, best)) best = c;
    }
    return first_of<32>(best);
  }
  __device__ void mark(int id) {
    if (id % 32 == static_cast<int>(threadIdx.x % 32)) chosen |= 1u << id / 32;
  }
};

// A block owns 4 rows, a warp one.
__global__ void __launch_bounds__(32 * kWarps) warp_kernel(GatingParams a) {
  const int t = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (t >= a.T) return;
  Row row = {a.logits + static_cast<std::size_t>(t) * a.E, a.bias, a.E};
  int* const ids = a.ids + static_cast<std::size_t>(t) * a.k;
  float* const weights = a.weights + static_cast<std::size_t>(t) * a.k;

  float largest = -INFINITY, all = 0, chosen = 0;
  for (int e = lane; e < a.E; e += 32) largest = max(largest, row.score(e));  // passes over NaN
  largest = warp_max(largest);
  for (int e = lane; e < a.E; e += 32) all += std::exp(row.score(e) - largest);
  all = warp_sum(all);
  if (all != all) return store_bad_row<32>(a, ids, weights);

  for (int j = 0; j < a.k; ++j) {
    const Candidate c = row.next();
    row.mark(c.id);
    const float w = std::exp(c.z - largest);
    chosen += w;
    if (j % 32 != lane) continue;
    ids[j] = c.id;
    weights[j] = w;
  }
  for (int j = lane; j < a.k; j += 32) weights[j] /= a.over_chosen ? chosen : all;
}

std::vector<LaunchConfig> launches(const GatingArgs& a, const Device&) {
  if (a.rows() == 0) return {};
  return {{.kernel = "warp", .grid = {ceil_div(a.rows(), kWarps)}, .block = {32 * kWarps}}};
}

void run(Exec& exec, const GatingArgs& args, const Prepared&) {
  const GatingParams a = params_of(args);
  for (const LaunchConfig& l : launches(args, exec.device)) launch(warp_kernel, l, exec.stream, a);
}

}  // namespace

namespace SIMT_BACKEND {

Version<GatingArgs> gating_gpu_v1_warp() {
  return {
      .name = "gpu_v1_warp",
      .backend = SIMT_THIS_BACKEND,
      .dtypes = {DType::kF32, DType::kBF16},
      .batch_invariant = true,
      .supports = [](const GatingArgs& a, const Device&) { return a.experts() <= kGatingExperts; },
      .launches = launches,
      .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::sparse_moe
