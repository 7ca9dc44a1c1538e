#include <algorithm>
#include <cmath>
#include <vector>

#include "02_sparse_moe/experts.h"
#include "common/base/error.h"
#include "common/device/overlap.h"

namespace octavo {
namespace {

// Matrix e of a stack [E, N, K]; borrows.
TensorView matrix(const TensorView& stack, std::int64_t e) {
  const std::int64_t N = stack.extent(1), K = stack.extent(2);
  auto* const start = static_cast<std::byte*>(stack.data());
  return {start + e * N * K * bytes_of(stack.dtype()), stack.dtype(), {N, K}};
}

}  // namespace

FfnWeights ExpertStack::expert(std::int64_t e) const {
  require(e >= 0 && e < experts(), "expert {} of {}", e, experts());
  FfnWeights w{.activation = activation, .up = matrix(up, e), .down = matrix(down, e)};
  if (gated()) w.gate = matrix(gate, e);
  return w;
}

void check_shapes(const ExpertStack& w) {
  const bool fits = w.up.rank() == 3 && w.down.rank() == 3 && w.up.size() > 0 &&
                    w.down.extent(0) == w.experts() && w.down.extent(1) == w.width() &&
                    w.down.extent(2) == w.hidden() && w.up.dtype() == w.down.dtype();
  require(fits && (!w.gated() || (std::ranges::equal(w.gate.extents(), w.up.extents()) &&
                                  w.gate.dtype() == w.up.dtype())),
          "experts: gate {}, up {}, down {} do not fit [E, F, D], [E, F, D], [E, D, F]",
          w.gate.describe(), w.up.describe(), w.down.describe());
}

void check_shapes(const ExpertsArgs& a) {
  check_shapes(a.weights);
  const std::int64_t T = a.rows(), D = a.weights.width(), E = a.weights.experts();
  require(a.x.rank() == 2 && a.x.extent(1) == D && a.y.extent(0) == T && a.y.extent(1) == D,
          "experts: x {} and y [{}, {}] do not fit [T, {}]", a.x.describe(), a.y.extent(0),
          a.y.extent(1), D);
  require(a.ids.extent(0) == T && a.weight.extents() == a.ids.extents() && a.top_k() >= 1 &&
              a.offsets.size() == E + 1 && a.order.size() == a.slots(),
          "experts: ids [{}, {}], weight [{}, {}], {} offsets and {} places do not fit {} tokens "
          "and {} experts",
          a.ids.extent(0), a.top_k(), a.weight.extent(0), a.weight.extent(1), a.offsets.size(),
          a.order.size(), T, E);
  constexpr std::int64_t kLimit = INT32_MAX - 1024;  // a tile beyond the end must not overflow
  require(a.slots() <= kLimit && D <= kLimit && a.weights.hidden() <= kLimit && E <= kLimit,
          "experts: {} slots, D {}, F {} and E {} must be at most {}", a.slots(), D,
          a.weights.hidden(), E, kLimit);
  require_apart("experts", {{"y", a.y}},
                {{"x", a.x},
                 {"ids", a.ids},
                 {"weight", a.weight},
                 {"offsets", a.offsets},
                 {"order", a.order}});
}

double touched_experts(std::int64_t T, std::int64_t top_k, std::int64_t E) {
  const auto e = static_cast<double>(E);
  return e * (1 - std::pow(1 - static_cast<double>(top_k) / e, static_cast<double>(T)));
}

Work experts_work(std::int64_t T, std::int64_t top_k, double touched, std::int64_t D,
                  std::int64_t F, int matrices, double weight_bytes) {
  const auto t = static_cast<double>(T), k = static_cast<double>(top_k);
  const auto d = static_cast<double>(D), f = static_cast<double>(F);
  return {.flops = 2 * matrices * t * k * d * f,
          .bytes = touched * matrices * d * f * weight_bytes + 8 * t * d};
}

void experts_reference(Exec& exec, const ExpertsArgs& a) {
  check_shapes(a);
  const std::int64_t T = a.rows(), D = a.weights.width(), k = a.top_k(), E = a.weights.experts();
  const View<const float, 2> x = a.x.as<const float, 2>();
  std::vector<float> slot_output(static_cast<std::size_t>(a.slots() * D));  // [T * k, D]
  for (std::int64_t e = 0; e < E; ++e) {
    const std::int64_t first = a.offsets(e), M = a.offsets(e + 1) - first;
    if (M == 0) continue;
    std::vector<float> rows(static_cast<std::size_t>(M * D)), result(rows.size());
    for (std::int64_t m = 0; m < M; ++m) {
      std::copy_n(x(a.order(first + m) / k).data(), D, rows.data() + m * D);
    }
    ffn_reference(exec, View<const float, 2>(rows, {M, D}), a.weights.expert(e),
                  View<float, 2>(result, {M, D}));
    for (std::int64_t m = 0; m < M; ++m) {
      std::copy_n(result.data() + m * D, D, slot_output.data() + a.order(first + m) * D);
    }
  }
  for (std::int64_t t = 0; t < T; ++t) {  // equation 3
    for (std::int64_t d = 0; d < D; ++d) {
      double sum = 0;
      for (std::int64_t j = 0; j < k; ++j) {
        if (a.ids(t, j) < 0 || a.ids(t, j) >= E) continue;
        sum += static_cast<double>(a.weight(t, j)) *
               static_cast<double>(slot_output[static_cast<std::size_t>((t * k + j) * D + d)]);
      }
      a.y(t, d) = static_cast<float>(sum);
    }
  }
}

}  // namespace octavo
