#pragma once
// What the kernels of "grouped_top_k" get by value, and what both of them do in one way: how a row
// becomes scores, and how a chosen row is written. A warp owns a row.

#include "03_switch_deepseek_routing/grouped_top_k.h"
#include "03_switch_deepseek_routing/grouped_top_k_math.h"
#include "common/simt/simt.h"

namespace octavo::switch_routing {

struct GateParams {
  const float* logits;  // [T, E]
  const float* bias;    // [E] or null
  int* ids;             // [T, k]
  float* weights;       // [T, k]
  int T, E, k, groups, top_groups;
  bool softmax, best_two, normalize;
  float scaling;
};

inline constexpr int kGateWarps = 4;  // rows of a block
inline constexpr int kGateThreads = 32 * kGateWarps;
inline constexpr int kMostExperts = 1024, kMostChoices = 32, kMostGroups = 32;

// Throws Error when the extents do not fit, or are more than the kernels take.
inline GateParams params_of(const GroupedTopKArgs& a) {
  check_shapes(a);
  const DeepseekRouting& r = a.routing;
  constexpr std::int64_t kMostRows = INT32_MAX - 1024;
  require(a.rows() <= kMostRows && r.experts <= kMostExperts && r.top_k <= kMostChoices,
          "router: {} rows of {} experts, {} chosen: the kernels take {}, {} and {} at most",
          a.rows(), r.experts, r.top_k, kMostRows, kMostExperts, kMostChoices);
  return {.logits = a.logits.data(),
          .bias = a.bias.extent(0) > 0 ? a.bias.data() : nullptr,
          .ids = a.ids.data(),
          .weights = a.weights.data(),
          .T = static_cast<int>(a.rows()),
          .E = static_cast<int>(r.experts),
          .k = static_cast<int>(r.top_k),
          .groups = static_cast<int>(r.groups),
          .top_groups = static_cast<int>(r.top_groups),
          .softmax = r.score == GateScore::kSoftmax,
          .best_two = r.group_score == GroupScore::kBestTwo,
          .normalize = r.normalize,
          .scaling = static_cast<float>(r.scaling)};
}

namespace device {
inline namespace SIMT_FLAVOUR {

using namespace simt;

// The two best of a set of scores. What is not there is -inf.
struct BestTwo {
  float first = -INFINITY, second = -INFINITY;

  __device__ void take(float value) {
    second = fmaxf(second, fminf(first, value));
    first = fmaxf(first, value);
  }
};

// Whether lane g's group is among the `top` best of the warp's `groups` groups; ties to the lower
// group. Every lane calls it; `score` counts in lanes 0 to groups - 1.
__device__ __forceinline__ bool group_is_kept(float score, int groups, int top) {
  const int lane = static_cast<int>(lane_index());
  int better = 0;
  for (int g = 0; g < groups; ++g) {
    const float other = __shfl_sync(kFullMask, score, g);
    better += (other > score || (other == score && g < lane)) ? 1 : 0;
  }
  return better < top;
}

// The ids 0 .. k - 1 with NaN for weights. Lane j writes choice j.
__device__ __forceinline__ void write_bad_row(const GateParams& a, int row) {
  const int lane = static_cast<int>(lane_index());
  if (lane >= a.k) return;
  a.ids[static_cast<std::size_t>(row) * a.k + lane] = lane;
  a.weights[static_cast<std::size_t>(row) * a.k + lane] = NAN;
}

// Equation 11 from the k scores that lanes 0 to k - 1 hold; the sum runs over j ascending.
__device__ __forceinline__ void write_row(const GateParams& a, int row, int id, float score) {
  const int lane = static_cast<int>(lane_index());
  float sum = 0;
  for (int j = 0; j < a.k; ++j) sum += __shfl_sync(kFullMask, score, j);
  if (lane >= a.k) return;
  const float w = a.normalize ? score / guarded(sum) : score;
  a.ids[static_cast<std::size_t>(row) * a.k + lane] = id;
  a.weights[static_cast<std::size_t>(row) * a.k + lane] = w * a.scaling;
}

}  // namespace SIMT_FLAVOUR
}  // namespace device
}  // namespace octavo::switch_routing
