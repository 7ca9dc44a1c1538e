#pragma once
// A laboratory for load balancing: one sparse layer of 8 small experts, trained in seconds, with
// the gradients written out. Inputs come from 32 clusters, some far more common than others; each
// cluster has a linear map of its own that the layer has to learn.

#include <cstdint>
#include <vector>

#include "03_switch_deepseek_routing/deepseek_routing.h"

namespace octavo::switch_routing {

inline constexpr std::int64_t kLabWidth = 16, kLabHidden = 32, kLabExperts = 8, kLabClusters = 32;

struct LabSettings {
  GateScore score = GateScore::kSoftmax;
  double alpha = 0;  // of Switch's loss, equation 5; softmax only
  float gamma = 0;   // of the bias update, equation 13
  // All inputs share a mean that is larger than what tells them apart, and the router starts with
  // strong opinions: the set-up in which a router collapses.
  bool shifted = false;
  // Tokens choose among the first so many. 1: a dense layer with the FLOPs of a token's one expert.
  std::int64_t experts = kLabExperts;
  std::uint64_t seed = 1;
  std::int64_t tokens = 512;  // of a step
  std::int64_t steps = 1000;
};

struct LabBatch {
  std::vector<double> x, target;  // [T, kLabWidth]
};
LabBatch lab_batch(const LabSettings& settings, std::int64_t step);

// y = s_e W2_e relu(W1_e x) with e the allowed expert of the largest s + bias, s the scores of W_r
// x.
class LabModel {
 public:
  explicit LabModel(const LabSettings& settings);

  struct Step {
    double loss = 0;                      // task and balancing
    double mse = 0;                       // the task alone: mean over tokens and coordinates
    std::vector<std::int64_t> load = {};  // [E] tokens of each expert
  };
  // Forward, and backward where `gradient` [parameters] is given. The loss of the gradient is
  // Step::loss with the choices and the f of equation 5 held fixed.
  Step run(const LabBatch& batch, std::vector<double>* gradient) const;

  std::vector<double> parameters;  // router [E, D], then of each expert W1 [H, D] and W2 [D, H]
  std::vector<float> bias;         // [E]

 private:
  LabSettings settings_;
};

struct LabResult {
  bool finite = true;            // false: training diverged, and nothing else counts
  double mse = 0;                // mean of the last fifth of the steps, as are the next three
  double effective_experts = 0;  // exp of the entropy of the load: E when even, 1 when collapsed
  double max_vio_batch = 0;      // mean over steps of max load / mean load - 1
  double max_vio_global = 0;     // the same of the load summed over those steps
  std::vector<double> share;     // [E] of that load, largest first
  std::vector<double> history;   // effective experts of every 20 steps
};

// Adam (Kingma and Ba 2015) with a step of 0.003.
LabResult train_lab(const LabSettings& settings);

// exp of the entropy of the shares; MaxVio of Wang et al. 2024, arXiv 2408.15664.
double effective_experts(const std::vector<std::int64_t>& load);
double max_violation(const std::vector<std::int64_t>& load);

}  // namespace octavo::switch_routing
