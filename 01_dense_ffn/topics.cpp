#include "01_dense_ffn/topics.h"

#include <cmath>

#include "common/base/threads.h"

namespace octavo::dense_ffn {
namespace {

using testing::Operands;
using testing::Tolerance;
using testing::Values;

std::vector<float> floats(const std::vector<double>& v) { return {v.begin(), v.end()}; }
Values only_y(const std::vector<float>& y) { return {{"y", {y.begin(), y.end()}}}; }

// Activations [T, width]: fp32 on the cpu, the compute type elsewhere.
TensorView activations(Operands& o, std::int64_t T, std::int64_t width) {
  if (o.settings().device.backend != Backend::kCpu) return o.row_tensor("x", {T, width});
  return TensorView(o.row_input<float>("x", {T, width}));
}

// Sums of `terms` fp32 products of unit variance differ by a few roundings times the root of their
// number.
Tolerance sum_tolerance(std::int64_t terms) {
  const double t = 1e-6 * std::sqrt(static_cast<double>(terms));
  return {.absolute = std::max(4e-6, t), .relative = 1e-5};
}

template <class Run>
std::vector<float> on_the_host(std::size_t size, Run run) {
  static ThreadPool threads(2);
  Exec exec(cpu_device(), DType::kF32, threads, 0);
  std::vector<float> y(size);
  run(exec, y);
  return y;
}

Values ffn_values(const FfnShape& s, const Operands& o) {
  std::vector<std::vector<float>> values;  // keeps what the views below see
  const auto matrix = [&](const char* name, std::int64_t N, std::int64_t K) {
    values.push_back(floats(o.values(name)));
    return TensorView(View<const float, 2>(values.back().data(), {N, K}));
  };
  const auto bias = [&](const char* name, std::int64_t n) {
    values.push_back(floats(o.values(name)));
    return View<const float, 1>(values.back().data(), {n});
  };
  FfnWeights w{.activation = s.activation};
  if (s.gated) w.gate = matrix("gate", s.F, s.D);
  w.up = matrix("up", s.F, s.D);
  w.down = matrix("down", s.D, s.F);
  if (s.bias) {
    if (s.gated) w.gate_bias = bias("gate_bias", s.F);
    w.up_bias = bias("up_bias", s.F);
    w.down_bias = bias("down_bias", s.D);
  }
  const std::vector<float> x = floats(o.values("x"));
  return only_y(on_the_host(static_cast<std::size_t>(s.T * s.D), [&](Exec& e, auto& y) {
    ffn_reference(e, View<const float, 2>(x, {s.T, s.D}), w, View<float, 2>(y, {s.T, s.D}));
  }));
}

}  // namespace

testing::Topic<MatmulShape, MatmulArgs> matmul_topic() {
  testing::Topic<MatmulShape, MatmulArgs> topic;
  topic.name = "matmul";
  // The real model's: tiny-moe's widest product, and the odd sizes around the tiles of the kernels
  // and of the packed product (blocks of 120 rows and of 128 terms, strips of 128 outputs).
  topic.shapes = {{1, 1, 1},      {1, 65, 129}, {3, 7, 5},     {16, 130, 257},
                  {17, 63, 64},   {63, 64, 65}, {65, 129, 72}, {130, 136, 88},
                  {5, 1024, 128}, {0, 8, 8},    {195, 24, 260}};
  topic.smallest = 7;
  topic.describe = [](const MatmulShape& s) {
    return fmt::format("T:{}/N:{}/K:{}", s.T, s.N, s.K);
  };
  topic.make = [](const MatmulShape& s, Operands& o) {
    return MatmulArgs{activations(o, s.T, s.K), o.weight("w", {s.N, s.K}),
                      o.row_output<float>("y", {s.T, s.N})};
  };
  topic.reference = [](const MatmulShape& s, const Operands& o) {
    const std::vector<float> x = floats(o.values("x")), w = floats(o.values("w"));
    return only_y(on_the_host(static_cast<std::size_t>(s.T * s.N), [&](Exec& e, auto& y) {
      matmul_reference(e, View<const float, 2>(x, {s.T, s.K}),
                       TensorView(View<const float, 2>(w, {s.N, s.K})),
                       View<float, 2>(y, {s.T, s.N}));
    }));
  };
  topic.tolerance = [](const MatmulShape& s, DType) { return sum_tolerance(s.K); };
  topic.work = [](const MatmulShape& s, DType type) {
    return matmul_work(s.T, s.N, s.K, static_cast<double>(bytes_of(type)));
  };
  topic.rows = [](const MatmulShape& s) { return s.T; };
  topic.with_rows = [](MatmulShape s, std::int64_t rows) {
    s.T = rows;
    return s;
  };
  topic.nonfinite_inputs = {"x", "w"};
  return topic;
}

testing::Topic<FfnShape, FfnArgs> ffn_topic() {
  testing::Topic<FfnShape, FfnArgs> topic;
  topic.name = "ffn";
  topic.shapes = {{1, 1, 1},
                  {3, 8, 12},
                  {5, 33, 17, Activation::kGeluErf, false, true},
                  {16, 128, 192},
                  {17, 40, 65, Activation::kGeluTanh, true, true},
                  {66, 72, 136, Activation::kSilu, true, true},
                  {66, 72, 136, Activation::kRelu, false, false},
                  {0, 8, 8}};
  topic.smallest = 5;
  topic.describe = [](const FfnShape& s) {
    return fmt::format("T:{}/D:{}/F:{}/{}{}{}", s.T, s.D, s.F, name_of(s.activation),
                       s.gated ? "_gated" : "", s.bias ? "_bias" : "");
  };
  topic.make = [](const FfnShape& s, Operands& o) {
    FfnArgs a{.x = activations(o, s.T, s.D), .weights = {.activation = s.activation}, .y = {}};
    if (s.gated) a.weights.gate = o.weight("gate", {s.F, s.D});
    a.weights.up = o.weight("up", {s.F, s.D});
    a.weights.down = o.weight("down", {s.D, s.F});
    if (s.bias) {
      if (s.gated) a.weights.gate_bias = o.input<float>("gate_bias", {s.F});
      a.weights.up_bias = o.input<float>("up_bias", {s.F});
      a.weights.down_bias = o.input<float>("down_bias", {s.D});
    }
    a.y = o.row_output<float>("y", {s.T, s.D});
    return a;
  };
  topic.reference = ffn_values;
  topic.tolerance = [](const FfnShape& s, DType type) {
    // In 16 bits a kernel rounds H on its way to the second product: 2^-8 of each of F terms.
    if (type != DType::kF32) return Tolerance{.absolute = 2e-2, .relative = 2e-2};
    return sum_tolerance(s.D + s.F);
  };
  topic.work = [](const FfnShape& s, DType type) {
    return ffn_work(s.T, s.D, s.F, s.gated ? 3 : 2, static_cast<double>(bytes_of(type)));
  };
  topic.rows = [](const FfnShape& s) { return s.T; };
  topic.with_rows = [](FfnShape s, std::int64_t rows) {
    s.T = rows;
    return s;
  };
  topic.nonfinite_inputs = {"x", "gate", "up", "down"};
  return topic;
}

testing::Topic<CastShape, CastArgs> cast_topic() {
  testing::Topic<CastShape, CastArgs> topic;
  topic.name = "cast";
  topic.shapes = {{1}, {7}, {8}, {2049}, {4096}, {0}};
  topic.smallest = 3;
  topic.describe = [](const CastShape& s) { return fmt::format("n:{}", s.n); };
  topic.make = [](const CastShape& s, Operands& o) {
    return CastArgs{o.input<float>("x", {s.n}), TensorView(o.output<bf16>("y", {s.n}))};
  };
  topic.reference = [](const CastShape&, const Operands& o) {
    std::vector<double> y = o.values("x");
    for (double& v : y) v = static_cast<double>(static_cast<float>(bf16(static_cast<float>(v))));
    return Values{{"y", y}};
  };
  topic.tolerance = [](const CastShape&, DType) { return Tolerance{.absolute = 0, .relative = 0}; };
  topic.work = [](const CastShape& s, DType) {
    return Work{.flops = static_cast<double>(s.n), .bytes = 6 * static_cast<double>(s.n)};
  };
  topic.nonfinite_inputs = {"x"};
  return topic;
}

}  // namespace octavo::dense_ffn
