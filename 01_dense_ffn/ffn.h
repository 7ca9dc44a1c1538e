#pragma once
// The feed-forward layer of a transformer block: two thirds of its weights, and independent for
// each token.

#include <memory>

#include "01_dense_ffn/linear.h"

namespace octavo {

class FeedForward {
 public:
  virtual ~FeedForward() = default;
  // x [T, D] -> y [T, D], without the residual. Row t of y depends on row t of x alone, bit for
  // bit.
  virtual void forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const = 0;
};

// SwiGLU (Shazeer 2020, "GLU variants improve transformer"), equation 2 of the README:
//   Y = (silu(X Wg^T) * (X Wu^T)) Wd^T,   Wg, Wu [F, D], Wd [D, F]
// Checkpoints call the three gate_proj, up_proj, down_proj (Llama) or w1, w3, w2 (Mixtral).
class SwiGlu : public FeedForward {
 public:
  // Throws Error when the shapes do not fit each other.
  SwiGlu(std::unique_ptr<Linear> gate, std::unique_ptr<Linear> up, std::unique_ptr<Linear> down);
  void forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const override;

 private:
  std::unique_ptr<Linear> gate_, up_, down_;
};

// silu(z) = z / (1 + exp(-z)), computed in double. silu(-inf) is NaN, as the formula says.
float silu_reference(float z);

}  // namespace octavo
