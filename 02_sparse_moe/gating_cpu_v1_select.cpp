// Equations 1 and 2 on the host: logits [T, E] -> ids and weights [T, k].
//
// Idea: the k best are kept in order while a row's scores pass once. A score that is not better
// than the last of them, which is nearly every one, costs a comparison.
//
// What limits it: the exponentials of a softmax over all experts; where the weights are a softmax
// of the chosen alone (every router that normalises), only k are computed.
//
// FLOPs: at most 3 T E. Bytes: 4 T E + 8 T k. No scratch: ids and weights hold the k best so far.

#include <algorithm>
#include <cmath>
#include <limits>

#include "02_sparse_moe/cpu_versions.h"
#include "common/base/threads.h"

namespace octavo::sparse_moe {
namespace {

constexpr std::int64_t kRowsOfATask = 16;

float score(const GatingArgs& a, std::int64_t t, std::int64_t e) {
  return a.bias.size() > 0 ? a.logits(t, e) + a.bias(e) : a.logits(t, e);
}

// Fills ids with the k best scores and weights with the scores themselves. Returns whether the row
// has a softmax.
bool select_row(const GatingArgs& a, std::int64_t t) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const auto ids = a.ids(t);
  const auto best = a.weights(t);
  std::int64_t kept = 0;
  for (std::int64_t e = 0; e < a.experts(); ++e) {
    const float z = score(a, t, e);
    if (!(z < kInf)) return false;
    if (kept == a.top_k() && !(z > best(kept - 1))) continue;
    std::int64_t j = kept < a.top_k() ? kept++ : kept - 1;
    for (; j > 0 && z > best(j - 1); --j) {  // of equal scores the lower id came first
      best(j) = best(j - 1);
      ids(j) = ids(j - 1);
    }
    best(j) = z;
    ids(j) = static_cast<int>(e);
  }
  return best(0) > -kInf;
}

void gate_row(const GatingArgs& a, std::int64_t t) {
  const auto weights = a.weights(t);
  if (!select_row(a, t)) {
    for (std::int64_t j = 0; j < a.top_k(); ++j) {
      a.ids(t, j) = static_cast<int>(j);
      weights(j) = std::numeric_limits<float>::quiet_NaN();
    }
    return;
  }
  const float largest = weights(0);
  double sum = 0;
  if (a.order == SoftmaxOrder::kSoftmaxTopK && !a.normalize) {
    for (std::int64_t e = 0; e < a.experts(); ++e) {
      sum += static_cast<double>(std::exp(score(a, t, e) - largest));
    }
  }
  for (std::int64_t j = 0; j < a.top_k(); ++j) weights(j) = std::exp(weights(j) - largest);
  if (a.order == SoftmaxOrder::kTopKSoftmax || a.normalize) {
    for (std::int64_t j = 0; j < a.top_k(); ++j) sum += static_cast<double>(weights(j));
  }
  for (std::int64_t j = 0; j < a.top_k(); ++j) {
    weights(j) = static_cast<float>(static_cast<double>(weights(j)) / sum);
  }
}

void run(Exec& exec, const GatingArgs& a, const Prepared&) {
  check_shapes(a);
  const auto task = [&a](std::int64_t i) {
    const std::int64_t end = std::min(a.rows(), (i + 1) * kRowsOfATask);
    for (std::int64_t t = i * kRowsOfATask; t < end; ++t) gate_row(a, t);
  };
  exec.threads.parallel_for((a.rows() + kRowsOfATask - 1) / kRowsOfATask,
                            [&task](std::int64_t i) { task(i); });
}

}  // namespace

Version<GatingArgs> gating_cpu_v1_select() {
  return {.name = "cpu_v1_select",
          .backend = Backend::kCpu,
          .dtypes = {DType::kF32},
          .batch_invariant = true,
          .run = run};
}

}  // namespace octavo::sparse_moe
