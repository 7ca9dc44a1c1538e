#pragma once
// A small topic for the tests of the contract suite and of the benchmarks: y[T, N] = x[T, K] w[N,
// K]^T.

#include <cstdint>
#include <vector>

#include "common/device/registry.h"
#include "common/testing/topic.h"

namespace octavo::testing::example {

struct Shape {
  std::int64_t T, N, K;
};
struct Args {
  View<const float, 2> x;  // [T, K]
  TensorView w;            // [N, K], the compute type
  View<float, 2> y;        // [T, N]
};

inline float weight(const TensorView& w, std::int64_t i) {
  return w.dtype() == DType::kF32 ? static_cast<const float*>(w.data())[i]
                                  : static_cast<float>(static_cast<const bf16*>(w.data())[i]);
}

inline float dot(const Args& a, std::int64_t t, std::int64_t n) {
  float sum = 0;
  const std::int64_t K = a.x.extent(1);
  for (std::int64_t k = 0; k < K; ++k) sum += a.x(t, k) * weight(a.w, n * K + k);
  return sum;
}

template <class F>
void each(const Args& a, F value) {
  for (std::int64_t t = 0; t < a.y.extent(0); ++t) {
    for (std::int64_t n = 0; n < a.y.extent(1); ++n) a.y(t, n) = value(t, n);
  }
}

inline void naive(Exec&, const Args& a, const Prepared&) {
  each(a, [&](auto t, auto n) { return dot(a, t, n); });
}

inline Topic<Shape, Args> matmul_topic() {
  Topic<Shape, Args> topic;
  topic.name = "matmul";
  topic.shapes = {{3, 5, 7}, {1, 1, 1}, {4, 16, 64}};
  topic.describe = [](const Shape& s) { return fmt::format("T:{}/N:{}/K:{}", s.T, s.N, s.K); };
  topic.make = [](const Shape& s, Operands& o) {
    return Args{o.row_input<float>("x", {s.T, s.K}), o.weight("w", {s.N, s.K}),
                o.row_output<float>("y", {s.T, s.N})};
  };
  topic.reference = [](const Shape& s, const Operands& o) {
    const std::vector<double> x = o.values("x"), w = o.values("w");
    std::vector<double> y;
    for (std::int64_t t = 0; t < s.T; ++t) {
      for (std::int64_t n = 0; n < s.N; ++n) {
        double sum = 0;
        for (std::int64_t k = 0; k < s.K; ++k) {
          sum +=
              x[static_cast<std::size_t>(t * s.K + k)] * w[static_cast<std::size_t>(n * s.K + k)];
        }
        y.push_back(sum);
      }
    }
    return Values{{"y", y}};
  };
  topic.tolerance = [](const Shape&, DType type) {
    return type == DType::kF32 ? Tolerance{1e-5, 1e-5} : Tolerance{3e-2, 3e-2};
  };
  topic.rows = [](const Shape& s) { return s.T; };
  topic.with_rows = [](Shape s, std::int64_t rows) {
    s.T = rows;
    return s;
  };
  topic.nonfinite_inputs = {"x", "w"};
  return topic;
}

}  // namespace octavo::testing::example
