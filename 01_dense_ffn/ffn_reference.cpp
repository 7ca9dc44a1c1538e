#include <cmath>
#include <numbers>
#include <vector>

#include "01_dense_ffn/ffn.h"
#include "01_dense_ffn/matmul.h"
#include "common/base/error.h"

namespace octavo {
namespace {

void add_bias(View<float, 2> y, View<const float, 1> bias) {
  if (bias.size() == 0) return;
  for (std::int64_t t = 0; t < y.extent(0); ++t) {
    for (std::int64_t n = 0; n < y.extent(1); ++n) y(t, n) += bias(n);
  }
}

}  // namespace

double activation_reference(Activation activation, double z) {
  switch (activation) {
    case Activation::kSilu:
      return z / (1 + std::exp(-z));
    case Activation::kGeluErf:
      return z / 2 * (1 + std::erf(z / std::numbers::sqrt2));
    case Activation::kGeluTanh:
      return z / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (z + 0.044715 * z * z * z)));
    case Activation::kRelu:
      return std::isnan(z) ? z : std::fmax(z, 0);
  }
  fail("activation {} is not known", static_cast<int>(activation));
}

void ffn_reference(Exec& exec, View<const float, 2> x, const FfnWeights& weights,
                   View<float, 2> y) {
  check_shapes(FfnArgs{TensorView(x), weights, y});
  const std::int64_t T = x.extent(0), F = weights.hidden();
  std::vector<float> up(static_cast<std::size_t>(T * F)), gate;
  const View<float, 2> u(up, {T, F});
  matmul_reference(exec, x, weights.up, u);
  add_bias(u, weights.up_bias);
  if (weights.gated()) {  // equation 3
    gate.resize(up.size());
    const View<float, 2> g(gate, {T, F});
    matmul_reference(exec, x, weights.gate, g);
    add_bias(g, weights.gate_bias);
  }
  for (std::size_t i = 0; i < up.size(); ++i) {
    const double a = activation_reference(weights.activation, weights.gated() ? gate[i] : up[i]);
    up[i] = static_cast<float>(weights.gated() ? a * static_cast<double>(up[i]) : a);
  }
  matmul_reference(exec, u, weights.down, y);
  add_bias(y, weights.down_bias);
}

}  // namespace octavo
