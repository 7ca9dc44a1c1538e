#pragma once
// What the gating kernels take, and the rule by which they choose.

#include <climits>
#include <cmath>

#include "01_dense_ffn/matmul_params.h"
#include "02_sparse_moe/gating.h"
#include "common/base/host_device.h"

namespace octavo::sparse_moe {

inline constexpr std::int64_t kGatingExperts = 1024;  // that a lane's 32 marks can tell apart

struct GatingParams {
  const float* logits;  // [T, E]
  const float* bias;    // [E]; null: none
  int* ids;             // [T, k]
  float* weights;       // [T, k]
  int T, E, k;
  bool over_chosen;  // weights are divided by the sum over the chosen, not over all
  bool aligned;      // rows of logits, and bias, start at multiples of 16 bytes
};

// An expert that can still be chosen; kNobody ranks behind every expert.
struct Candidate {
  float z;
  int id;
};
inline constexpr int kNobody = INT_MAX;

// Whether a is chosen before b: the larger score, then the lower id. For scores that are not NaN.
OCTAVO_HD inline bool before(const Candidate& a, const Candidate& b) {
  return a.z > b.z || (a.z == b.z && a.id < b.id);
}

// Throws Error when the extents do not fit, or are more than the kernels take.
inline GatingParams params_of(const GatingArgs& a) {
  check_shapes(a);
  require(a.rows() <= INT32_MAX - 1024 && a.experts() <= kGatingExperts,
          "gating: {} rows of {} experts, at most {} of {}", a.rows(), a.experts(),
          INT32_MAX - 1024, kGatingExperts);
  const float* const bias = a.bias.size() > 0 ? a.bias.data() : nullptr;
  return {.logits = a.logits.data(),
          .bias = bias,
          .ids = a.ids.data(),
          .weights = a.weights.data(),
          .T = static_cast<int>(a.rows()),
          .E = static_cast<int>(a.experts()),
          .k = static_cast<int>(a.top_k()),
          .over_chosen = a.normalize || a.order == SoftmaxOrder::kTopKSoftmax,
          .aligned = dense_ffn::rows_aligned(a.logits.data(), static_cast<int>(a.experts())) &&
                     dense_ffn::is_aligned(bias, 16)};
}

}  // namespace octavo::sparse_moe
