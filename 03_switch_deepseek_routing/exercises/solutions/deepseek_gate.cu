// Solution of the exercise "deepseek_gate".
//
// The first bug weighed the experts with b, the biased scores. A bias is there to move the choice,
// so that the load evens out; in the weights it would make a pushed expert speak louder than its
// score allows, and the output would drift with the load. The weights are made of s.
//
// The second gave the experts of groups that are not kept the value 0. Where all biased scores are
// negative, 0 is the best of them, and a token leaves for a group that it may not use. What may not
// be chosen is worth minus infinity.

#include <cmath>

#include "03_switch_deepseek_routing/exercises/exercises.h"
#include "03_switch_deepseek_routing/grouped_top_k_params.h"
#include "common/simt/launch.h"

namespace octavo::switch_routing {
namespace {

using namespace device;

constexpr int kThreads = 32;

__device__ float biased_score(const GateParams& a, const float* z, int e) {
  return sigmoid_score(z[e]) + (a.bias != nullptr ? a.bias[e] : 0.0f);
}

// Bit g: group g is among the best top_groups, by the sum of its two best biased scores.
__device__ unsigned kept_groups(const GateParams& a, const float* z) {
  const int size = a.E / a.groups;
  float score[kMostGroups];
  for (int g = 0; g < a.groups; ++g) {
    BestTwo best;
    for (int e = g * size; e < (g + 1) * size; ++e) best.take(biased_score(a, z, e));
    score[g] = size > 1 ? best.first + best.second : best.first;
  }
  unsigned kept = 0;
  for (int i = 0; i < a.top_groups; ++i) {
    int best = -1;
    for (int g = 0; g < a.groups; ++g) {
      if ((kept >> g & 1) == 0 && (best < 0 || score[g] > score[best])) best = g;
    }
    kept |= 1u << best;
  }
  return kept;
}

// A thread owns a row.
__global__ void __launch_bounds__(kThreads) gate_kernel(GateParams a) {
  const int row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= a.T) return;
  const float* const z = a.logits + static_cast<std::size_t>(row) * a.E;
  int* const ids = a.ids + static_cast<std::size_t>(row) * a.k;
  float* const weights = a.weights + static_cast<std::size_t>(row) * a.k;
  bool bad = false;
  for (int e = 0; e < a.E; ++e) bad |= is_nan(z[e]);
  const unsigned kept = kept_groups(a, z);
  unsigned taken[kMostExperts / 32] = {};
  float sum = 0;
  for (int j = 0; j < a.k; ++j) {
    int best = -1;
    float best_value = 0;
    for (int e = 0; e < a.E; ++e) {
      if ((taken[e / 32] >> e % 32 & 1) != 0) continue;
      const bool allowed = (kept >> e / (a.E / a.groups) & 1) != 0;
      const float value = allowed ? biased_score(a, z, e) : -INFINITY;
      if (best < 0 || value > best_value) {
        best = e;
        best_value = value;
      }
    }
    taken[best / 32] |= 1u << best % 32;
    ids[j] = bad ? j : best;
    weights[j] = sigmoid_score(z[best]);
    sum += weights[j];
  }
  for (int j = 0; j < a.k; ++j) {
    const float w = a.normalize ? weights[j] / guarded(sum) : weights[j];
    weights[j] = bad ? NAN : w * a.scaling;
  }
}

bool supports(const GroupedTopKArgs& a, const Device&) {
  return a.routing.experts <= kMostExperts && a.routing.groups <= kMostGroups &&
         a.routing.score == GateScore::kSigmoid;
}

std::vector<LaunchConfig> launches(const GroupedTopKArgs& a, const Device&) {
  if (a.rows() == 0) return {};
  return {{.kernel = "exercise", .grid = {ceil_div(a.rows(), kThreads)}, .block = {kThreads}}};
}

void run(Exec& exec, const GroupedTopKArgs& a, const Prepared&) {
  check_shapes(a);
  for (const LaunchConfig& l : launches(a, exec.device)) {
    launch(gate_kernel, l, exec.stream, params_of(a));
  }
}

}  // namespace

namespace SIMT_BACKEND {

Version<GroupedTopKArgs> exercise_deepseek_gate() {
  return {.name = "exercise",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32},
          .batch_invariant = true,
          .supports = supports,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::switch_routing
