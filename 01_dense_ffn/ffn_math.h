#pragma once
// The activations as the kernels and the quick host versions compute them, in fp32.

#include <cmath>

#include "01_dense_ffn/ffn.h"
#include "common/base/host_device.h"

namespace octavo {

OCTAVO_HD inline float silu(float z) { return z / (1.0f + std::exp(-z)); }

OCTAVO_HD inline float gelu_erf(float z) {
  constexpr float kInvSqrt2 = 0.70710678118654752f;
  return 0.5f * z * (1.0f + std::erf(z * kInvSqrt2));
}

// Hendrycks and Gimpel 2016, section 2.
OCTAVO_HD inline float gelu_tanh(float z) {
  constexpr float kSqrt2OverPi = 0.79788456080286536f;
  return 0.5f * z * (1.0f + std::tanh(kSqrt2OverPi * (z + 0.044715f * z * z * z)));
}

// Written so that NaN stays NaN.
OCTAVO_HD inline float relu(float z) { return z < 0.0f ? 0.0f : z; }

OCTAVO_HD inline float activate(Activation activation, float z) {
  switch (activation) {
    case Activation::kSilu:
      return silu(z);
    case Activation::kGeluErf:
      return gelu_erf(z);
    case Activation::kGeluTanh:
      return gelu_tanh(z);
    case Activation::kRelu:
      return relu(z);
  }
  return z;
}

}  // namespace octavo
