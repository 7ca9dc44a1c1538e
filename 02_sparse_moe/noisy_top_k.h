#pragma once
// Noisy top-k gating (Shazeer et al. 2017, arXiv 1701.06538, section 2.1, section 4 and appendix
// A), the gate that the later ones descend from. The draws are inputs, so that a run can be
// repeated.

#include <span>
#include <vector>

#include "02_sparse_moe/routing.h"

namespace octavo {

// All [T, E].
struct NoisyLogits {
  View<const float, 2> clean;   // x Wg
  View<const float, 2> spread;  // x Wn^T; the noise of an expert deviates by softplus of it
  View<const float, 2> normal;  // a standard normal draw each
};

struct NoisyGates {
  RoutingPlan plan;  // the k largest of the noisy logits; their softmax, all other gates are 0
  // [E] sum of an expert's gates over the batch: how much it matters
  std::vector<double> importance = {};
  // [E] sum over the batch of the probability that the expert is chosen when its own noise is drawn
  // again: how much it works, as a function that has a gradient. Where there is no noise, and for
  // k = E, the tokens that chose it.
  std::vector<double> load = {};
};

// Training, equations 6 and 7 of the README. Wants 1 <= k <= E. A row whose noisy logits have no
// softmax gets ids and weights as Router's rows do, and its probabilities, and with them the load
// of a batch with k < E, are NaN.
NoisyGates noisy_top_k(const NoisyLogits& logits, std::int64_t k);
// Evaluation: the clean logits alone.
NoisyGates noiseless_top_k(View<const float, 2> clean, std::int64_t k);

// The square of the coefficient of variation, over the population: variance / (mean^2 + 1e-10); 0
// when all are equal, n - 1 when one of n has everything. Both balancing losses are this, of
// importance and of load, times a weight (0.1 in the paper).
double cv_squared(std::span<const double> values);

// ln(1 + e^x), the noise's deviation; it neither overflows nor loses small values.
double softplus(double x);

}  // namespace octavo
