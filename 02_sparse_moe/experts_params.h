#pragma once
// What the expert kernels take. The rows of the plan's order are places; place i is slot order[i],
// whose token is order[i] / k.

#include "01_dense_ffn/ffn_params.h"
#include "02_sparse_moe/experts.h"
#include "common/base/host_device.h"

namespace octavo::sparse_moe {

// The first element of row `row` of a matrix of `width` columns. In 64 bits: T k D passes 2^31 with
// 131072 slots of 16384.
OCTAVO_HD inline std::size_t row_start(int row, int width) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(width);
}
// The same for row n of matrix e of a stack [E, N, K].
OCTAVO_HD inline std::size_t row_start(int e, int n, int N, int K) {
  return (row_start(e, N) + static_cast<std::size_t>(n)) * static_cast<std::size_t>(K);
}

// W: the type of x, of the weights and of H.
template <class W>
struct ExpertsParams {
  const W* x;          // [T, D]
  const W* gate;       // [E, F, D]; null: not gated
  const W* up;         // [E, F, D]
  const W* down;       // [E, D, F]
  const int* offsets;  // [E + 1]
  const int* order;    // [T k]
  W* hidden;           // [T k, F] by place
  float* slot_y;       // [T k, D] by slot; those that go nowhere are not written
  int k, E, D, F;
  Activation activation;

  // Places [first, first + rows) as a dense layer of expert e; its x is still to be gathered.
  OCTAVO_HD dense_ffn::HiddenParams<W> layer(int e, int first, int rows) const {
    return {.x = nullptr,
            .gate = gate != nullptr ? gate + row_start(e, 0, F, D) : nullptr,
            .up = up + row_start(e, 0, F, D),
            .gate_bias = nullptr,
            .up_bias = nullptr,
            .hidden = hidden + row_start(first, F),
            .T = rows,
            .D = D,
            .F = F,
            .activation = activation};
  }
};

// Workspace of every version: H by place, and the slots' results.
template <class W>
std::int64_t experts_bytes(const ExpertsArgs& a) {
  return Workspace::bytes_for<W>(a.slots() * a.weights.hidden()) +
         Workspace::bytes_for<float>(a.slots() * a.weights.width());
}
inline std::int64_t experts_bytes(const ExpertsArgs& a) {
  return a.weights.up.dtype() == DType::kBF16 ? experts_bytes<bf16>(a) : experts_bytes<float>(a);
}

// Throws Error when the extents do not fit, or when x or the weights are of another type. Takes H
// and the slots' results from the workspace, so the caller holds a scope.
template <class W>
ExpertsParams<W> params_of(const ExpertsArgs& a, Workspace& workspace) {
  check_shapes(a);
  const ExpertStack& w = a.weights;
  constexpr DType kType = dense_ffn::kTypeOf<W>;
  require(a.x.dtype() == kType && w.up.dtype() == kType,
          "experts: x is {} and up {}, this kernel wants both in {}", a.x.describe(),
          w.up.describe(), name_of(kType));
  return {.x = static_cast<const W*>(a.x.data()),
          .gate = w.gated() ? static_cast<const W*>(w.gate.data()) : nullptr,
          .up = static_cast<const W*>(w.up.data()),
          .down = static_cast<const W*>(w.down.data()),
          .offsets = a.offsets.data(),
          .order = a.order.data(),
          .hidden = workspace.take<W>(a.slots() * w.hidden()).data(),
          .slot_y = workspace.take<float>(a.slots() * w.width()).data(),
          .k = static_cast<int>(a.top_k()),
          .E = static_cast<int>(w.experts()),
          .D = static_cast<int>(w.width()),
          .F = static_cast<int>(w.hidden()),
          .activation = w.activation};
}

// Whether every row of x and of the weights starts at a multiple of 16 bytes.
template <class W>
bool rows_aligned(const ExpertsParams<W>& a) {
  using dense_ffn::rows_aligned;
  return rows_aligned(a.x, a.D) && rows_aligned(a.up, a.D) && rows_aligned(a.down, a.F) &&
         (a.gate == nullptr || rows_aligned(a.gate, a.D));
}

}  // namespace octavo::sparse_moe
