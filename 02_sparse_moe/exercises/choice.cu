// Exercise: make a gate choose k experts, whatever the scores are
//
// Topic "gating": logits [T, E] (+ bias [E]) -> ids and weights [T, k]; gating.h says what is
// wanted, gating_reference.cpp how it is defined.
//
// The kernel below gives a row to a thread. It walks the row k times and takes, each time, the
// largest score below the one it took last. It needs no memory of what it took and no sort, and on
// random numbers of many digits it is never wrong. Scores in 16 bits are not such numbers; and some
// models want other weights than it gives.
//
// Your task: make it right for every row: equal scores, scores of -inf, rows that are no row of
// scores (a NaN, a +inf, nothing but -inf), and weights over all experts. It can still do without a
// memory of what it took: what has a row's best score, and what comes next?
//
//   ./run exercise 02 choice              judges this file
//   ./run exercise 02 choice --solution   judges exercises/solutions/choice.cu

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
  float last = INFINITY, largest = -INFINITY, sum = 0;
  for (int j = 0; j < a.k; ++j) {
    float best = -INFINITY;
    int id = 0;
    for (int e = 0; e < a.E; ++e) {
      const float z = a.score(t, e);
      if (z < last && z > best) {
        best = z;
        id = e;
      }
    }
    last = best;
    largest = max(largest, best);
    a.ids[t * a.k + j] = id;
    a.weights[t * a.k + j] = std::exp(best - largest);
    sum += std::exp(best - largest);
  }
  for (int j = 0; j < a.k; ++j) a.weights[t * a.k + j] /= sum;
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
