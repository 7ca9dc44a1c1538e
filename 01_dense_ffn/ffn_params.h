#pragma once
// The two halves of a feed-forward layer as its kernels see them: H = act(X Wg^T + bg) * (X Wu^T +
// bu), and the product Y = H Wd^T + bd that the matmul kernels do.

#include "01_dense_ffn/ffn.h"
#include "01_dense_ffn/ffn_math.h"
#include "01_dense_ffn/matmul_params.h"

namespace octavo::dense_ffn {

template <class E>
struct HiddenParams {
  const E* x;              // [T, D]
  const E* gate;           // [F, D]; null: not gated
  const E* up;             // [F, D]
  const float* gate_bias;  // [F]; null: none
  const float* up_bias;    // [F]; null: none
  E* hidden;               // [T, F]
  int T, D, F;
  Activation activation;
};

// H[t, f] from the sums over D of row f of gate and of up; of up alone when not gated.
template <class E>
OCTAVO_HD inline float hidden_value(const HiddenParams<E>& a, int f, float gate, float up) {
  if (a.up_bias != nullptr) up += a.up_bias[f];
  if (a.gate == nullptr) return activate(a.activation, up);
  if (a.gate_bias != nullptr) gate += a.gate_bias[f];
  return activate(a.activation, gate) * up;
}

// Throws Error when the extents do not fit, when one of them does not fit an int, or when x or a
// matrix is of another type.
template <class E>
HiddenParams<E> hidden_params(const FfnArgs& a, E* hidden) {
  check_shapes(a);
  const FfnWeights& w = a.weights;
  require(w.down.dtype() == w.up.dtype() && (!w.gated() || w.gate.dtype() == w.up.dtype()),
          "feed-forward layer: gate {}, up {} and down {} are not of one type", w.gate.describe(),
          w.up.describe(), w.down.describe());
  const MatmulParams<E> up = params_of<E>({a.x, w.up, {nullptr, {a.rows(), w.hidden()}}});
  const auto data = [](View<const float, 1> b) { return b.size() > 0 ? b.data() : nullptr; };
  return {.x = up.x,
          .gate = w.gated() ? static_cast<const E*>(w.gate.data()) : nullptr,
          .up = up.w,
          .gate_bias = data(w.gate_bias),
          .up_bias = data(w.up_bias),
          .hidden = hidden,
          .T = up.T,
          .D = up.K,
          .F = up.N,
          .activation = w.activation};
}

template <class E>
bool rows_aligned(const HiddenParams<E>& a) {
  return rows_aligned(a.x, a.D) && rows_aligned(a.up, a.D) &&
         (a.gate == nullptr || rows_aligned(a.gate, a.D));
}

// Bytes of workspace for H in the type of the weights.
inline std::int64_t hidden_bytes(const FfnArgs& a) {
  return Workspace::bytes_for<std::byte>(a.rows() * a.weights.hidden() *
                                         bytes_of(a.weights.up.dtype()));
}

// The second half. hidden [T, F] in the type of the weights.
inline MatmulArgs down_product(const FfnArgs& a, void* hidden) {
  return {{hidden, a.weights.up.dtype(), {a.rows(), a.weights.hidden()}}, a.weights.down, a.y};
}

}  // namespace octavo::dense_ffn
