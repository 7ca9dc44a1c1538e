#pragma once
// Routing under a capacity: an expert takes at most C tokens of a batch, and what comes later is
// dropped (Lepikhin et al. 2020, GShard, arXiv 2006.16668; Fedus et al. 2021, Switch, arXiv
// 2101.03961). Equations 1 to 4 of the README. A token's experts then depend on its neighbours in
// the batch: this is a laboratory, and the model loader refuses a config that asks for it.

#include <cstdint>
#include <string_view>
#include <vector>

#include "02_sparse_moe/routing.h"
#include "common/base/view.h"

namespace octavo::switch_routing {

// A fraction, so that 1.1 x 110 is 121 and not a little more, as it is in doubles.
struct CapacityFactor {
  std::int64_t numerator = 1, denominator = 1;
};

// "1.25" is 125/100. Throws Error for anything but digits with at most one point, for 0, and for
// more than six digits.
CapacityFactor capacity_factor(std::string_view decimal);

// Equation 2: min(T, ceil(factor k T / E)) rows an expert, in whole numbers throughout. At least 1
// where there are tokens.
std::int64_t capacity(CapacityFactor factor, std::int64_t T, std::int64_t E, std::int64_t top_k);

// What tokens want, before any capacity.
struct Choices {
  std::int64_t tokens = 0, experts = 0, top_k = 0;  // T, E, k
  std::vector<int> ids = {};        // [T, k]; -1: a second expert that was not drawn
  std::vector<float> weights = {};  // [T, k]; 0 where the id is -1
};

// Equation 4, k = 1: the expert with the largest p, with p itself as its weight. It is never
// divided by the sum of the chosen: that would be 1, and the router would get no gradient.
Choices switch_top1(View<const float, 2> logits);

// Equation 3, k = 2: weights p1 / (p1 + p2) and p2 / (p1 + p2); the second expert is dispatched
// when uniforms[t] < 2 g2. logits [T, E] with E >= 2, uniforms [T] in [0, 1).
Choices gshard_top2(View<const float, 2> logits, View<const float, 1> uniforms);

// Who stays when an expert is full. All first choices come before any second, then tokens in order.
enum class DropPolicy : std::uint8_t {
  kPosition,     // who came first
  kProbability,  // the largest weights; equal ones by who came first
};

// What becomes of a token's other weight when one of its experts drops it.
enum class AfterDrop : std::uint8_t {
  kKeep,         // nothing (GShard): the token gets less than a whole output
  kRenormalize,  // the remaining weights are divided by their sum
};

struct CapacityPlan {
  std::int64_t tokens = 0, experts = 0, top_k = 0, capacity = 0;  // T, E, k, C
  std::vector<int> ids = {};            // [T, k]; -1: goes nowhere and contributes exactly 0
  std::vector<float> weights = {};      // [T, k]; 0 where the id is -1
  std::vector<int> place = {};          // [T, k] row of its expert's buffer, 0 .. C - 1; or -1
  std::vector<std::int64_t> load = {};  // [E] choices of each expert, the dropped ones too
  std::int64_t dropped = 0;             // choices that found their expert full
};

// Throws Error unless C >= 0 and `choices` are what its fields say: T k ids and weights, the ids
// that are not -1 distinct within a token and below E.
CapacityPlan place(const Choices& choices, std::int64_t capacity, DropPolicy policy,
                   AfterDrop after);

// The same for chapter 02's layer.
RoutingPlan routing_plan(const CapacityPlan& plan);

// Which blocks of a model have a sparse layer. GShard and Switch: every other one {0, 2}; Mixtral:
// all {0, 1}; DeepSeek-V3: all but the first three {3, 1}.
struct Placement {
  std::int64_t first_dense = 0;  // the first blocks are dense
  std::int64_t period = 1;       // of the others, each whose number + 1 is a multiple is sparse
};
bool is_sparse(Placement placement, std::int64_t block);

}  // namespace octavo::switch_routing
