#pragma once
// Topic "experts": the routed feed-forward layers of a plan and their weighted sum (equation 3 of
// the README).

#include <cstdint>

#include "01_dense_ffn/ffn.h"
#include "common/base/view.h"
#include "common/base/work.h"
#include "common/device/exec.h"
#include "common/device/tensor.h"

namespace octavo {

// E feed-forward layers of one shape, by the names under which Version::prepare gets them.
struct ExpertStack {
  Activation activation = Activation::kSilu;
  TensorView gate = {};  // "gate" [E, F, D]; empty: not gated
  TensorView up = {};    // "up" [E, F, D]
  TensorView down = {};  // "down" [E, D, F]

  bool gated() const { return gate.size() > 0; }
  std::int64_t experts() const { return up.extent(0); }  // E
  std::int64_t hidden() const { return up.extent(1); }   // F
  std::int64_t width() const { return up.extent(2); }    // D
  // The layer of expert e; borrows.
  FfnWeights expert(std::int64_t e) const;
};

// Throws Error when the extents do not fit each other.
void check_shapes(const ExpertStack& weights);

// offsets and order are those of topic "align" for these ids.
struct ExpertsArgs {
  TensorView x = {};                 // [T, D]; fp32 on the cpu, elsewhere the compute type
  ExpertStack weights = {};          // on the device, in the compute type
  View<const int, 2> ids = {};       // [T, k]
  View<const float, 2> weight = {};  // [T, k]
  View<const int, 1> offsets = {};   // [E + 1]
  View<const int, 1> order = {};     // [T * k]
  // [T, D]: y_t = sum_j weight_tj Expert_{ids_tj}(x_t), j ascending; a slot whose id is outside
  // [0, E), as -1 is, adds exactly 0
  View<float, 2> y = {};

  std::int64_t rows() const { return x.extent(0); }     // T
  std::int64_t top_k() const { return ids.extent(1); }  // k
  std::int64_t slots() const { return ids.size(); }     // T * k
};

// Throws Error when the extents do not fit each other, when T * k, D, F or E does not fit an int,
// or when y lies over another operand.
void check_shapes(const ExpertsArgs& args);

// How many of E experts T tokens reach, each choosing k at random: E (1 - (1 - k / E)^T).
double touched_experts(std::int64_t T, std::int64_t top_k, std::int64_t E);

// The least a layer must do whose T k slots reach `touched` experts: their weights once, x and y.
// `matrices` is 3 when gated, else 2.
Work experts_work(std::int64_t T, std::int64_t top_k, double touched, std::int64_t D,
                  std::int64_t F, int matrices, double weight_bytes);

// Equation 3: expert after expert over the sorted slots, then the sum in slot order, in double. x
// is fp32, the weights of any type.
void experts_reference(Exec& exec, const ExpertsArgs& args);

}  // namespace octavo
