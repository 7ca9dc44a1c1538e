#include "02_sparse_moe/topics.h"

#include <array>
#include <cmath>
#include <set>

#include "common/base/philox.h"
#include "common/base/threads.h"

namespace octavo::sparse_moe {
namespace {

using testing::Fill;
using testing::Operands;
using testing::Tolerance;
using testing::Values;

std::vector<float> floats(const std::vector<double>& v) { return {v.begin(), v.end()}; }
std::vector<int> ints(const std::vector<double>& v) { return {v.begin(), v.end()}; }
template <class T>
std::vector<double> doubles(const std::vector<T>& v) {
  return {v.begin(), v.end()};
}

// The ids, offsets and order of the rows that the operands stand for, on the host.
struct HostPlan {
  std::vector<int> ids, offsets, order;

  HostPlan(Spread spread, std::int64_t first, std::int64_t T, std::int64_t k, std::int64_t E)
      : ids(static_cast<std::size_t>(T * k)),
        offsets(static_cast<std::size_t>(E + 1)),
        order(ids.size()) {
    for (std::int64_t s = 0; s < T * k; ++s)
      ids[static_cast<std::size_t>(s)] = id_of_slot(spread, first + s / k, s % k, k, E);
    align_reference({View<const int, 2>(ids, {T, k}), View<int, 1>(offsets, {E + 1}),
                     View<int, 1>(order, {T * k})});
  }
};

Fill from(std::vector<int> values) {
  return [values = std::move(values)](std::int64_t i) {
    return static_cast<double>(values[static_cast<std::size_t>(i)]);
  };
}

// Sums of `terms` fp32 products of unit variance differ by a few roundings times the root of their
// number.
Tolerance sum_tolerance(std::int64_t terms) {
  const double t = 1e-6 * std::sqrt(static_cast<double>(terms));
  return {.absolute = std::max(4e-6, t), .relative = 1e-5};
}

GatingArgs make_gating(const GatingShape& s, Operands& o) {
  GatingArgs a{.order = s.order, .normalize = s.normalize};
  const Fill normal = o.normal("logits", 2);
  a.logits = o.row_input<float>("logits", {s.T, s.E}, [normal, s](std::int64_t i) {
    return i / s.E % 7 == 3 ? -HUGE_VAL : std::round(normal(i) * 4) / 4;
  });
  if (s.bias) {
    const Fill bias = o.normal("bias");
    a.bias = o.input<float>("bias", {s.E},
                            [bias](std::int64_t i) { return std::round(bias(i) * 4) / 4; });
  }
  a.ids = o.row_output<int>("ids", {s.T, s.k});
  a.weights = o.row_output<float>("weights", {s.T, s.k});
  return a;
}

Values gating_values(const GatingShape& s, const Operands& o) {
  const std::vector<float> logits = floats(o.values("logits"));
  const std::vector<float> bias = s.bias ? floats(o.values("bias")) : std::vector<float>();
  std::vector<int> ids(static_cast<std::size_t>(s.T * s.k));
  std::vector<float> weights(ids.size());
  gating_reference({.logits = {logits.data(), {s.T, s.E}},
                    .bias = {bias.data(), {static_cast<std::int64_t>(bias.size())}},
                    .order = s.order,
                    .normalize = s.normalize,
                    .ids = {ids.data(), {s.T, s.k}},
                    .weights = {weights.data(), {s.T, s.k}}});
  return Values{{"ids", doubles(ids)}, {"weights", doubles(weights)}};
}

Values experts_values(const ExpertsShape& s, const Operands& o) {
  std::vector<std::vector<float>> values;  // keeps what the views below see
  const auto matrix = [&](const char* name, std::int64_t N, std::int64_t K) {
    values.push_back(floats(o.values(name)));
    return TensorView(View<const float, 3>(values.back().data(), {s.E, N, K}));
  };
  const std::vector<float> x = floats(o.values("x")), weight = floats(o.values("weight"));
  const std::vector<int> ids = ints(o.values("ids")), offsets = ints(o.values("offsets")),
                         order = ints(o.values("order"));
  std::vector<float> y(x.size());
  ExpertsArgs a;
  a.x = TensorView(View<const float, 2>(x, {s.T, s.D}));
  a.weights.activation = s.activation;
  if (s.gated) a.weights.gate = matrix("gate", s.F, s.D);
  a.weights.up = matrix("up", s.F, s.D);
  a.weights.down = matrix("down", s.D, s.F);
  a.ids = {ids.data(), {s.T, s.k}};
  a.weight = {weight.data(), {s.T, s.k}};
  a.offsets = {offsets.data(), {s.E + 1}};
  a.order = {order.data(), {s.T * s.k}};
  a.y = {y.data(), {s.T, s.D}};
  static ThreadPool threads(2);
  Exec exec(cpu_device(), DType::kF32, threads, 0);
  experts_reference(exec, a);
  return {{"y", doubles(y)}};
}

ExpertsArgs make_experts(const ExpertsShape& s, Operands& o) {
  const bool host = o.settings().device.backend == Backend::kCpu;
  const HostPlan plan(s.spread, o.settings().rows.first, s.T, s.k, s.E);
  ExpertsArgs a;
  a.x = host ? TensorView(o.row_input<float>("x", {s.T, s.D})) : o.row_tensor("x", {s.T, s.D});
  a.weights.activation = s.activation;
  if (s.gated) a.weights.gate = o.weight("gate", {s.E, s.F, s.D});
  a.weights.up = o.weight("up", {s.E, s.F, s.D});
  a.weights.down = o.weight("down", {s.E, s.D, s.F});
  a.ids = o.row_input<int>("ids", {s.T, s.k}, [s](std::int64_t i) {
    return id_of_slot(s.spread, i / s.k, i % s.k, s.k, s.E);
  });
  a.weight = o.row_input<float>("weight", {s.T, s.k});
  a.offsets = o.input<int>("offsets", {s.E + 1}, from(plan.offsets));
  a.order = o.input<int>("order", {s.T * s.k}, from(plan.order));
  a.y = o.row_output<float>("y", {s.T, s.D});
  return a;
}

}  // namespace

std::string_view name_of(Spread spread) {
  constexpr std::array<std::string_view, 5> names = {"even", "skew", "one", "holes", "none"};
  return names[static_cast<std::size_t>(spread)];
}

int id_of_slot(Spread spread, std::int64_t t, std::int64_t j, std::int64_t top_k, std::int64_t E) {
  // Two numbers in [0, 1) for a token.
  const float u = uniform(1, 0, static_cast<std::uint64_t>(t), Purpose::kTest, 0),
              v = uniform(1, 0, static_cast<std::uint64_t>(t), Purpose::kTest, 1);
  const auto below = [](float r, std::int64_t n) {
    return static_cast<std::int64_t>(static_cast<double>(r) * static_cast<double>(n));
  };
  const std::int64_t slot = t * top_k + j;
  switch (spread) {
    case Spread::kEven:  // E / k apart: distinct
      return static_cast<int>((below(u, E) + j * std::max<std::int64_t>(1, E / top_k)) % E);
    case Spread::kSkew:  // neighbours from a start that is small: distinct
      return static_cast<int>((below(u * u * v * v, E) + j) % E);
    case Spread::kOne:
      return static_cast<int>(std::max<std::int64_t>(0, E - 2));
    case Spread::kHoles:
      return slot % 10 == 3 ? -1
             : slot % 10 == 8
                 ? static_cast<int>(E)
                 : static_cast<int>(below(u, (E + 1) / 2) * 2 + j / 2 * 2) % static_cast<int>(E);
    case Spread::kNone:
      return -1;
  }
  return -1;
}

testing::Topic<GatingShape, GatingArgs> gating_topic() {
  testing::Topic<GatingShape, GatingArgs> topic;
  topic.name = "gating";
  constexpr auto kTopKSoftmax = SoftmaxOrder::kTopKSoftmax;
  topic.shapes = {{1, 1, 1},
                  {3, 4, 2},
                  {33, 8, 2, SoftmaxOrder::kSoftmaxTopK, true, true},
                  {17, 60, 4, SoftmaxOrder::kSoftmaxTopK, false},  // Qwen1.5-MoE
                  {9, 32, 4, kTopKSoftmax, false, true},           // gpt-oss
                  {15, 64, 64, SoftmaxOrder::kSoftmaxTopK, false},
                  {31, 128, 8},  // Qwen3-MoE
                  {18, 257, 33, kTopKSoftmax, true, true},
                  {5, 511, 6, SoftmaxOrder::kSoftmaxTopK, false, true},
                  {8, 1024, 9},
                  {0, 8, 2}};
  topic.smallest = 2;
  topic.describe = [](const GatingShape& s) {
    return fmt::format("T:{}/E:{}/k:{}/{}{}{}", s.T, s.E, s.k,
                       s.order == SoftmaxOrder::kSoftmaxTopK ? "softmax_topk" : "topk_softmax",
                       s.normalize ? "_normalize" : "", s.bias ? "_bias" : "");
  };
  topic.make = make_gating;
  topic.reference = gating_values;
  topic.tolerance = [](const GatingShape&, DType) {  // weights are at most 1; ids are exact
    return Tolerance{.absolute = 1e-7, .relative = 4e-6};
  };
  topic.work = [](const GatingShape& s, DType) { return gating_work(s.T, s.E, s.k); };
  topic.rows = [](const GatingShape& s) { return s.T; };
  topic.with_rows = [](GatingShape s, std::int64_t rows) {
    s.T = rows;
    return s;
  };
  topic.nonfinite_inputs = {"logits", "bias"};
  return topic;
}

testing::Topic<AlignShape, AlignArgs> align_topic() {
  testing::Topic<AlignShape, AlignArgs> topic;
  topic.name = "align";
  topic.shapes = {{1, 1, 1},
                  {3, 2, 4},
                  {257, 2, 8},
                  {100, 8, 64, Spread::kHoles},
                  {70, 4, 60},
                  {513, 2, 33, Spread::kSkew},
                  {40, 8, 256, Spread::kSkew},
                  {300, 4, 7, Spread::kOne},
                  {65, 8, 5, Spread::kNone},
                  {1100, 2, 70, Spread::kHoles},
                  {0, 2, 8},
                  {300, 8, 1024}};
  topic.smallest = 9;  // three chunks, three warps of experts, slots that go nowhere
  topic.describe = [](const AlignShape& s) {
    return fmt::format("T:{}/k:{}/E:{}/{}", s.T, s.k, s.E, name_of(s.spread));
  };
  topic.make = [](const AlignShape& s, Operands& o) {
    AlignArgs a;
    a.ids = o.input<int>("ids", {s.T, s.k}, [s](std::int64_t i) {
      return id_of_slot(s.spread, i / s.k, i % s.k, s.k, s.E);
    });
    a.offsets = o.output<int>("offsets", {s.E + 1});
    a.order = o.output<int>("order", {s.T * s.k});
    return a;
  };
  topic.reference = [](const AlignShape& s, const Operands&) {
    const HostPlan plan(s.spread, 0, s.T, s.k, s.E);
    return Values{{"offsets", doubles(plan.offsets)}, {"order", doubles(plan.order)}};
  };
  topic.tolerance = [](const AlignShape&, DType) { return Tolerance{}; };
  topic.work = [](const AlignShape& s, DType) { return align_work(s.T, s.k, s.E); };
  return topic;
}

testing::Topic<ExpertsShape, ExpertsArgs> experts_topic() {
  testing::Topic<ExpertsShape, ExpertsArgs> topic;
  topic.name = "experts";
  constexpr auto kGelu = Activation::kGeluErf;
  topic.shapes = {{1, 1, 1, 1, 1},
                  {3, 2, 4, 8, 16},
                  {5, 2, 3, 33, 17, Spread::kEven, kGelu, false},
                  {17, 2, 9, 40, 24, Spread::kHoles},
                  {33, 1, 3, 72, 40, Spread::kOne},
                  {16, 4, 8, 64, 128, Spread::kSkew},
                  {66, 2, 4, 72, 136, Spread::kSkew, Activation::kGeluTanh, true},
                  {31, 3, 6, 24, 67, Spread::kEven, Activation::kRelu, false},
                  {4, 2, 8, 8, 8, Spread::kNone},
                  {0, 2, 4, 8, 8}};
  topic.smallest = 3;  // so many experts that the version for few slots takes it too
  topic.describe = [](const ExpertsShape& s) {
    return fmt::format("T:{}/k:{}/E:{}/D:{}/F:{}/{}_{}{}", s.T, s.k, s.E, s.D, s.F,
                       name_of(s.spread), name_of(s.activation), s.gated ? "_gated" : "");
  };
  topic.make = make_experts;
  topic.reference = experts_values;
  topic.tolerance = [](const ExpertsShape& s, DType type) {
    // In 16 bits a kernel rounds H on its way to the second product: 2^-8 of each of F terms, k
    // times.
    if (type != DType::kF32) return Tolerance{.absolute = 4e-2, .relative = 2e-2};
    return sum_tolerance((s.D + s.F) * s.k);
  };
  topic.work = [](const ExpertsShape& s, DType type) {
    std::set<int> touched;
    for (std::int64_t slot = 0; slot < s.T * s.k; ++slot) {
      touched.insert(id_of_slot(s.spread, slot / s.k, slot % s.k, s.k, s.E));
    }
    touched.erase(-1);
    touched.erase(static_cast<int>(s.E));
    return experts_work(s.T, s.k, static_cast<double>(touched.size()), s.D, s.F, s.gated ? 3 : 2,
                        static_cast<double>(bytes_of(type)));
  };
  topic.rows = [](const ExpertsShape& s) { return s.T; };
  topic.with_rows = [](ExpertsShape s, std::int64_t rows) {
    s.T = rows;
    return s;
  };
  topic.nonfinite_inputs = {"x", "gate", "up", "down", "weight"};
  return topic;
}

}  // namespace octavo::sparse_moe
