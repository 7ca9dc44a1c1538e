#include "01_dense_ffn/ffn.h"

#include <array>

#include "common/base/error.h"
#include "common/device/overlap.h"

namespace octavo {

std::string_view name_of(Activation activation) {
  constexpr std::array<std::string_view, 4> names = {"silu", "gelu_erf", "gelu_tanh", "relu"};
  return names[static_cast<std::size_t>(activation)];
}

void check_shapes(const FfnWeights& w) {
  require(w.up.rank() == 2 && w.down.rank() == 2 && w.up.size() > 0 &&
              w.down.extent(0) == w.up.extent(1) && w.down.extent(1) == w.up.extent(0) &&
              (!w.gated() || (w.gate.rank() == 2 && w.gate.extent(0) == w.up.extent(0) &&
                              w.gate.extent(1) == w.up.extent(1))),
          "feed-forward layer: gate {}, up {}, down {} do not fit [F, D], [F, D], [D, F]",
          w.gate.describe(), w.up.describe(), w.down.describe());
  const auto fits = [](View<const float, 1> bias, std::int64_t n) {
    return bias.size() == 0 || bias.size() == n;
  };
  require(fits(w.gate_bias, w.gated() ? w.hidden() : 0) && fits(w.up_bias, w.hidden()) &&
              fits(w.down_bias, w.width()),
          "feed-forward layer: biases of {}, {} and {} do not fit F {} and D {}",
          w.gate_bias.size(), w.up_bias.size(), w.down_bias.size(), w.hidden(), w.width());
}

void set_concatenated(FfnWeights& weights, const TensorView& gate_up) {
  require(gate_up.rank() == 2 && gate_up.extent(0) % 2 == 0,
          "a concatenated gate and up matrix is {}, must be [2F, D]", gate_up.describe());
  const std::int64_t F = gate_up.extent(0) / 2, D = gate_up.extent(1);
  auto* const start = static_cast<std::byte*>(gate_up.data());
  weights.gate = TensorView(start, gate_up.dtype(), {F, D});
  weights.up = TensorView(start + F * D * bytes_of(gate_up.dtype()), gate_up.dtype(), {F, D});
}

void check_shapes(const FfnArgs& a) {
  check_shapes(a.weights);
  require(a.x.rank() == 2 && a.x.extent(1) == a.weights.width() && a.y.extent(0) == a.rows() &&
              a.y.extent(1) == a.weights.width(),
          "feed-forward layer: x {} and y [{}, {}] do not fit [T, {}]", a.x.describe(),
          a.y.extent(0), a.y.extent(1), a.weights.width());
  require_apart("feed-forward layer", {{"y", a.y}}, {{"x", a.x}});
}

Work ffn_work(std::int64_t T, std::int64_t D, std::int64_t F, int matrices, double weight_bytes) {
  const auto t = static_cast<double>(T), d = static_cast<double>(D), f = static_cast<double>(F);
  return {.flops = 2 * matrices * t * d * f, .bytes = matrices * d * f * weight_bytes + 8 * t * d};
}

}  // namespace octavo
