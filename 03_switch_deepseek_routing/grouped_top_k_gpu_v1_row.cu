// Equations 8 to 11: logits [T, E] -> ids and weights [T, k], a gate of DeepSeek's in one launch.
//
// Idea: a warp a row. The row's scores stand in shared memory, each lane looks after every 32nd
// expert and, in the second step, after one group; k rounds then find the best of what is left.
// Written as separate operations (sigmoid, add, top 2, mask, top k, gather, divide) the same work
// is ten launches of a few microseconds each on a few kilobytes.
//
// What limits it: every round reads all scores of the row from shared memory again, k E in all,
// and a lane with a group reads E / G scores one by one while the lanes without one wait.
//
// Grid: a block of 4 warps for 4 rows; 8 E bytes of shared memory a warp.
// FLOPs: about 4 T E. Bytes: 4 T E read, 8 T k written.

#include "03_switch_deepseek_routing/gpu_versions.h"
#include "03_switch_deepseek_routing/grouped_top_k_params.h"
#include "common/simt/launch.h"

namespace octavo::switch_routing {
namespace {

using namespace device;

// The experts of lane l are l, l + 32, ..; `s` and `b` are the warp's own shared memory. Returns
// false for a row without scores.
__device__ bool score_row(const GateParams& a, const float* logits, float* s, float* b) {
  const int lane = static_cast<int>(lane_index());
  float top = -INFINITY;
  bool bad = false;
  for (int e = lane; e < a.E; e += 32) {
    s[e] = logits[e];
    bad |= is_nan(s[e]);
    top = fmaxf(top, s[e]);
  }
  float sum = 0;
  if (a.softmax) {
    top = warp_max(top);
    bad |= fabsf(top) == INFINITY;
    for (int e = lane; e < a.E; e += 32) sum += s[e] = std::exp(s[e] - top);
    sum = warp_sum(sum);
  }
  if (__any_sync(kFullMask, bad)) return false;
  for (int e = lane; e < a.E; e += 32) {
    s[e] = a.softmax ? s[e] / sum : sigmoid_score(s[e]);
    b[e] = a.bias != nullptr ? s[e] + a.bias[e] : s[e];
  }
  __syncwarp();  // each lane's scores are there for all
  return true;
}

// Bit g: the token may use group g. Lane g scores group g; the bits beyond the last mean nothing.
__device__ unsigned kept_groups(const GateParams& a, const float* b) {
  const int lane = static_cast<int>(lane_index()), size = a.E / a.groups;
  BestTwo best;
  for (int i = 0; lane < a.groups && i < size; ++i) best.take(b[lane * size + i]);
  const float score = a.best_two ? best.first + best.second : best.first;
  return __ballot_sync(kFullMask, group_is_kept(score, a.groups, a.top_groups));
}

__global__ void __launch_bounds__(kGateThreads) row_kernel(GateParams a) {
  const int lane = static_cast<int>(lane_index()), warp = threadIdx.x / 32;
  const int row = blockIdx.x * kGateWarps + warp;
  if (row >= a.T) return;  // the whole warp; nobody waits for it
  float* const s = dynamic_shared<float>() + 2 * a.E * warp;
  float* const b = s + a.E;
  if (!score_row(a, a.logits + static_cast<std::size_t>(row) * a.E, s, b)) {
    return write_bad_row(a, row);
  }
  const unsigned groups = a.top_groups < a.groups ? kept_groups(a, b) : ~0u;
  const int size = a.E / a.groups;
  unsigned taken = 0;  // bit i: expert lane + 32 i is chosen, or in a group that is not kept
  for (int e = lane; e < a.E; e += 32) {
    if ((groups >> (e / size) & 1) == 0) taken |= 1u << e / 32;
  }
  int id = 0;
  float score = 0;
  for (int j = 0; j < a.k; ++j) {
    unsigned long long best = 0;  // below every key
    for (int e = lane; e < a.E; e += 32) {
      if ((taken >> e / 32 & 1) != 0) continue;
      const unsigned long long key = choice_key(b[e], e);
      best = best < key ? key : best;
    }
    const int chosen = id_of(warp_max(best));
    if (chosen % 32 == lane) taken |= 1u << chosen / 32;
    if (j == lane) {
      id = chosen;
      score = s[chosen];
    }
  }
  write_row(a, row, id, score);
}

bool supports(const GroupedTopKArgs& a, const Device&) {
  return a.routing.experts <= kMostExperts && a.routing.top_k <= kMostChoices &&
         a.routing.groups <= kMostGroups;
}

std::vector<LaunchConfig> launches(const GroupedTopKArgs& a, const Device&) {
  if (a.rows() == 0) return {};
  const auto bytes = static_cast<std::int64_t>(2 * kGateWarps * sizeof(float));
  return {{.kernel = "row",
           .grid = {ceil_div(a.rows(), kGateWarps)},
           .block = {kGateThreads},
           .shared_bytes = bytes * a.routing.experts}};
}

void run(Exec& exec, const GroupedTopKArgs& a, const Prepared&) {
  const GateParams p = params_of(a);
  require(p.groups <= kMostGroups, "router: {} groups, this kernel takes {} at most", p.groups,
          kMostGroups);
  for (const LaunchConfig& l : launches(a, exec.device)) launch(row_kernel, l, exec.stream, p);
}

}  // namespace

namespace SIMT_BACKEND {

Version<GroupedTopKArgs> grouped_top_k_gpu_v1_row() {
  return {.name = "gpu_v1_row",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .supports = supports,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::switch_routing
