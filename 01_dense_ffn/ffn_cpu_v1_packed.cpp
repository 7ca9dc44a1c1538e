// Equations 2 and 3 on packed weights; x, y [T, D], gate and up [F, D], down [D, F].
//
// Idea: the products of matmul_cpu_v2_packed, and between them the activation, on each tile of H as
// soon as both of its halves are there, while it is in a cache. A row's bits do not depend on the
// batch.
//
// What limits it: as that product. The activation's exponential is scalar: in a layer of D inputs
// it is paid for once for 6 D FLOPs.
//
// FLOPs: 6 T D F when gated, else 4 T D F. Bytes: all weights once, and H [T, F] in the workspace.

#include <optional>
#include <utility>

#include "01_dense_ffn/cpu_versions.h"
#include "01_dense_ffn/ffn_math.h"
#include "01_dense_ffn/packed_matrix.h"

namespace octavo::dense_ffn {
namespace {

struct PackedFfn {
  std::optional<PackedMatrix<>> gate;  // [F, D]; none: not gated
  PackedMatrix<> up;                   // [F, D]
  PackedMatrix<> down;                 // [D, F]
};

Prepared prepare(const WeightSet& weights, const Device&) {
  PackedFfn packed = {{}, PackedMatrix<>(weights["up"]), PackedMatrix<>(weights["down"])};
  for (const NamedWeight& w : weights.all()) {
    if (w.name == "gate") packed.gate.emplace(w.tensor);
  }
  return Prepared::of(std::move(packed));
}

std::int64_t workspace(const FfnArgs& a, const Device&) {
  return (a.weights.gated() ? 2 : 1) * Workspace::bytes_for<float>(a.rows() * a.weights.hidden());
}

// y[t, n] += bias[n] for some columns; an empty bias is none.
void add_bias(View<float, 2> y, View<const float, 1> bias, Range columns) {
  if (bias.size() == 0) return;
  for (std::int64_t t = 0; t < y.extent(0); ++t) {
    for (std::int64_t n = columns.begin; n < columns.end; ++n) y(t, n) += bias(n);
  }
}

// h = act(g) * h, or act(h) without a g, for some columns.
void activate_columns(Activation activation, View<const float, 2> g, View<float, 2> h,
                      Range columns) {
  for (std::int64_t t = 0; t < h.extent(0); ++t) {
    for (std::int64_t n = columns.begin; n < columns.end; ++n) {
      h(t, n) =
          g.size() > 0 ? activate(activation, g(t, n)) * h(t, n) : activate(activation, h(t, n));
    }
  }
}

void run(Exec& exec, const FfnArgs& a, const Prepared& prepared) {
  check_shapes(a);
  const auto& w = prepared.get<PackedFfn>();
  const FfnWeights& shape = a.weights;
  require(w.up.outputs() == shape.hidden() && w.up.inputs() == shape.width() &&
              w.gate.has_value() == shape.gated(),
          "feed-forward layer: the packed weights are {} [{}, {}], the call's up is {}",
          w.gate ? "gated" : "not gated", w.up.outputs(), w.up.inputs(), shape.up.describe());
  const Workspace::Scope scope(exec.workspace);
  const std::int64_t T = a.rows(), F = shape.hidden();
  const auto x = a.x.as<const float, 2>();
  const View<float, 2> h(exec.workspace.take<float>(T * F).data(), {T, F});
  View<float, 2> g;
  if (w.gate) g = {exec.workspace.take<float>(T * F).data(), {T, F}};

  for_each_tile(exec.threads, T, w.up.strips(), [&](Range rows, Range strips) {
    const auto xr = x.rows(rows.begin, rows.end);
    const auto hr = h.rows(rows.begin, rows.end);
    const Range columns = w.up.columns(strips);
    w.up.product(xr, hr, strips);
    add_bias(hr, shape.up_bias, columns);
    View<float, 2> gr;
    if (w.gate) {
      gr = g.rows(rows.begin, rows.end);
      w.gate->product(xr, gr, strips);
      add_bias(gr, shape.gate_bias, columns);
    }
    activate_columns(shape.activation, gr, hr, columns);
  });
  for_each_tile(exec.threads, T, w.down.strips(), [&](Range rows, Range strips) {
    const auto yr = a.y.rows(rows.begin, rows.end);
    w.down.product(h.rows(rows.begin, rows.end), yr, strips);
    add_bias(yr, shape.down_bias, w.down.columns(strips));
  });
}

}  // namespace

Version<FfnArgs> ffn_cpu_v1_packed() {
  return {.name = "cpu_v1_packed",
          .backend = Backend::kCpu,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .prepare = prepare,
          .workspace = workspace,
          .run = run};
}

}  // namespace octavo::dense_ffn
