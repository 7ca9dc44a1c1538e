#pragma once
// The losses that keep the load of experts even, each with its gradient with respect to the
// router's logits. Equations 5 to 7 and 14 of the README. Counts are taken before any capacity.

#include <cstdint>
#include <vector>

#include "common/base/view.h"

namespace octavo::switch_routing {

struct RouterLoss {
  double loss = 0;
  std::vector<double> f = {};  // [E] share of tokens (times E / k in sequence_loss); no gradient
  std::vector<double> P = {};  // [E] mean probability
  std::vector<double> gradient = {};  // [T, E] of the loss
};

// Equation 5: L = scale sum_e f_e P_e, where f_e is the share of tokens that have e among their
// `counted` most probable experts; the f add up to `counted`. f is a count and has no gradient.
// Equation 6: dL/dz_t,j = scale / T p_t,j (f_j - sum_e f_e p_t,e).
//
// How much a balanced router pays is a convention, and coefficients are tuned to one of them:
//   Switch                    counted 1, scale alpha E            balanced: alpha
//   GShard, the paper         counted 1, scale alpha / E          balanced: alpha / E^2
//   Mixtral's published code  counted k, scale alpha E            balanced: alpha k
//   Megatron, MegaBlocks      counted k, scale alpha E / k        balanced: alpha
RouterLoss balance_loss(View<const float, 2> logits, std::int64_t counted, double scale);

// The two of the papers.
RouterLoss switch_loss(View<const float, 2> logits, double alpha);
RouterLoss gshard_loss(View<const float, 2> logits, double alpha);

// Equation 7 (Zoph et al. 2022, ST-MoE, arXiv 2202.08906): coefficient mean_t (log sum_e exp
// z_t,e)^2. It keeps logits small; f and P stay empty.
RouterLoss z_loss(View<const float, 2> logits, double coefficient);

// Equation 14, DeepSeek-V3's, mean over sequences of alpha sum_e f_e P_e with sigmoid scores s:
// f_e = E / (k T) times the tokens of the sequence with e among their k largest s, P_e the mean of
// s_e / sum_i s_i. As in the paper the count looks at s alone, not at the bias or the groups that
// decide where a token goes. lengths: tokens of each sequence, of at least 1, together T. f and P
// are means over the sequences. Balanced: alpha.
RouterLoss sequence_loss(View<const float, 2> logits, std::int64_t top_k, double alpha,
                         const std::vector<std::int64_t>& lengths);

}  // namespace octavo::switch_routing
