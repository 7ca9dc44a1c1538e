// Solution of the exercise "choice".
//
// Topic "gating": logits [T, E] (+ bias [E]) -> ids and weights [T, k]; gating.h says what is
// wanted, gating_reference.cpp how it is defined.
//
// What follows the last choice is decided by score and id together: of two equal scores the lower
// id comes first. Ordered like that no two experts are equal, so that "the best behind the last" is
// one expert, and a score of -inf is a score like any other. A row without a softmax is found
// first: a NaN and +inf are the numbers for which z < +inf is false, and a largest score of -inf
// says that there is no other. The sum over all experts needs one more walk.

#include "02_sparse_moe/exercises/exercises.h"
#include "common/simt/launch.h"

namespace octavo::sparse_moe {
namespace {

using namespace simt;

constexpr int kThreads = 64;

struct Params {
  const float* logits;  // [T, E]
  const float* bias;    // [E] or null
  int* ids;             // [T, k]
  float* weights;       // [T, k]
  int T, E, k;
  bool over_chosen;  // the weights are divided by the sum over the chosen, else over all experts

  __device__ float score(int t, int e) const {
    const float z = logits[static_cast<std::size_t>(t) * E + e];
    return bias != nullptr ? z + bias[e] : z;
  }
};

// Thread t owns row t.
__global__ void __launch_bounds__(kThreads) kernel(Params a) {
  const int t = blockIdx.x * kThreads + threadIdx.x;
  if (t >= a.T) return;
  float largest = -INFINITY, all = 0, chosen = 0;
  bool softmax = true;
  for (int e = 0; e < a.E; ++e) {
    const float z = a.score(t, e);
    softmax = softmax && z < INFINITY;
    largest = max(largest, z);
  }
  softmax = softmax && largest > -INFINITY;
  for (int e = 0; e < a.E; ++e) all += std::exp(a.score(t, e) - largest);
  float last = INFINITY;
  int last_id = -1;
  for (int j = 0; j < a.k; ++j) {
    float best = -INFINITY;
    int id = -1;
    for (int e = 0; e < a.E && softmax; ++e) {
      const float z = a.score(t, e);
      const bool behind_last = z < last || (z == last && e > last_id);
      if (behind_last && (id < 0 || z > best)) {
        best = z;
        id = e;
      }
    }
    last = best;
    last_id = id;
    const float w = softmax ? std::exp(best - largest) : NAN;
    chosen += w;
    a.ids[t * a.k + j] = softmax ? id : j;
    a.weights[t * a.k + j] = w;
  }
  for (int j = 0; j < a.k; ++j) a.weights[t * a.k + j] /= a.over_chosen ? chosen : all;
}

std::vector<LaunchConfig> launches(const GatingArgs& a, const Device&) {
  if (a.rows() == 0) return {};
  return {{.kernel = "exercise", .grid = {ceil_div(a.rows(), kThreads)}, .block = {kThreads}}};
}

void run(Exec& exec, const GatingArgs& a, const Prepared&) {
  check_shapes(a);
  const Params p = {a.logits.data(),
                    a.bias.size() > 0 ? a.bias.data() : nullptr,
                    a.ids.data(),
                    a.weights.data(),
                    static_cast<int>(a.rows()),
                    static_cast<int>(a.experts()),
                    static_cast<int>(a.top_k()),
                    a.normalize || a.order == SoftmaxOrder::kTopKSoftmax};
  for (const LaunchConfig& l : launches(a, exec.device)) launch(kernel, l, exec.stream, p);
}

}  // namespace

namespace SIMT_BACKEND {

Version<GatingArgs> exercise_choice() {
  return {.name = "exercise",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32},
          .batch_invariant = true,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::sparse_moe
