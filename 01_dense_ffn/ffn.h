#pragma once
// Topic "ffn": the feed-forward layer of a transformer block (equations 2 and 3 of the README):
//   H = act(X Wu^T + bu)                      plain
//   H = act(X Wg^T + bg) * (X Wu^T + bu)      gated: SwiGLU with SiLU, GEGLU with a GELU
//   Y = H Wd^T + bd

#include <cstdint>
#include <string_view>

#include "common/base/view.h"
#include "common/base/work.h"
#include "common/device/exec.h"
#include "common/device/tensor.h"

namespace octavo {

// The two GELUs differ by up to 5e-4 and are never interchanged: a checkpoint was trained with one.
enum class Activation : std::uint8_t { kSilu, kGeluErf, kGeluTanh, kRelu };

std::string_view name_of(Activation activation);  // "silu", "gelu_erf", "gelu_tanh", "relu"

// The weights by the names under which Version::prepare gets them. Checkpoints call the matrices
// gate_proj, up_proj, down_proj (Llama) or w1, w3, w2 (Mixtral).
struct FfnWeights {
  Activation activation = Activation::kSilu;
  TensorView gate = {};                 // "gate" [F, D]; empty: not gated
  TensorView up = {};                   // "up" [F, D]
  TensorView down = {};                 // "down" [D, F]
  View<const float, 1> gate_bias = {};  // [F]; an empty bias is none
  View<const float, 1> up_bias = {};    // [F]
  View<const float, 1> down_bias = {};  // [D]

  bool gated() const { return gate.size() > 0; }
  std::int64_t width() const { return up.extent(1); }   // D
  std::int64_t hidden() const { return up.extent(0); }  // F
};

// Throws Error when the extents do not fit each other.
void check_shapes(const FfnWeights& weights);

// Sets gate and up from one matrix [2F, D], gate first, as Granite and fused Llama checkpoints
// store it. Borrows. Throws Error for an odd number of rows.
void set_concatenated(FfnWeights& weights, const TensorView& gate_up);

struct FfnArgs {
  TensorView x;        // [T, D]; fp32 on the cpu, elsewhere the compute type
  FfnWeights weights;  // on the device, in the compute type; biases fp32
  View<float, 2> y;    // [T, D]

  std::int64_t rows() const { return x.extent(0); }
};

// Throws Error when the extents do not fit each other, or when y lies over x.
void check_shapes(const FfnArgs& args);

// The least a layer of these sizes must do: `matrices` is 3 when gated, else 2.
Work ffn_work(std::int64_t T, std::int64_t D, std::int64_t F, int matrices, double weight_bytes);

// An activation in double. silu(-inf) and gelu(-inf) are NaN, as the formulas say.
double activation_reference(Activation activation, double z);

// Equations 2 and 3: sums in double, H rounded to fp32. Weights of any type.
void ffn_reference(Exec& exec, View<const float, 2> x, const FfnWeights& weights, View<float, 2> y);

}  // namespace octavo
