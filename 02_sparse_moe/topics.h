#pragma once
// This chapter's topics for the contract suite and the benchmarks.

#include "02_sparse_moe/align.h"
#include "02_sparse_moe/experts.h"
#include "02_sparse_moe/gating.h"
#include "common/testing/topic.h"

namespace octavo::sparse_moe {

// The logits are multiples of a quarter, so that many tie, and every seventh row has no softmax.
struct GatingShape {
  std::int64_t T, E, k;
  SoftmaxOrder order = SoftmaxOrder::kSoftmaxTopK;
  bool normalize = true;
  bool bias = false;
};
testing::Topic<GatingShape, GatingArgs> gating_topic();

// Where the slots go.
enum class Spread : std::uint8_t {
  kEven,   // k distinct experts a token, at random
  kSkew,   // the same, but low ids are far more frequent than high ones
  kOne,    // all to the last expert but one, k times a token
  kHoles,  // to every second expert, some twice a token; every fifth slot goes nowhere, by -1 or E
  kNone,   // nowhere at all
};
std::string_view name_of(Spread spread);

// The id of slot t * k + j: a pure function of its arguments, so that a row can be made again
// alone.
int id_of_slot(Spread spread, std::int64_t t, std::int64_t j, std::int64_t top_k, std::int64_t E);

struct AlignShape {
  std::int64_t T, k, E;
  Spread spread = Spread::kEven;
};
testing::Topic<AlignShape, AlignArgs> align_topic();

struct ExpertsShape {
  std::int64_t T, k, E, D, F;
  Spread spread = Spread::kEven;
  Activation activation = Activation::kSilu;
  bool gated = true;
};
testing::Topic<ExpertsShape, ExpertsArgs> experts_topic();

}  // namespace octavo::sparse_moe
