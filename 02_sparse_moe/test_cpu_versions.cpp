// What the contract's small shapes do not reach: experts with more rows than a block, experts with
// few rows beside ones with many, and any number of threads.

#include <gtest/gtest.h>

#include <array>

#include "02_sparse_moe/cpu_versions.h"
#include "02_sparse_moe/routing.h"
#include "02_sparse_moe/versions.h"
#include "common/base/threads.h"
#include "common/testing/contract.h"
#include "common/testing/random.h"

namespace octavo::sparse_moe {
namespace {

// A layer whose weights are in bf16; expert 0 gets nearly all tokens, expert 3 none.
struct Layer {
  static constexpr std::int64_t T = 450, k = 2, E = 5, D = 40, F = 72;
  Tensor gate = weights(1, F, D), up = weights(2, F, D), down = weights(3, D, F);
  std::vector<float> x = testing::normal(T * D, 4), weight = testing::normal(T * k, 5);
  RoutingPlan plan{.tokens = T, .experts = E, .top_k = k};

  Layer() {
    for (std::int64_t t = 0; t < T; ++t) {
      plan.ids.push_back(t % 50 == 7 ? 4 : 0);
      plan.ids.push_back(t % 9 == 0 ? 2 : t % 9 == 1 ? -1 : 1);
    }
    sort_slots(plan);
  }

  static Tensor weights(std::uint32_t stream, std::int64_t N, std::int64_t K) {
    const std::vector<float> w = testing::normal(E * N * K, stream, 0.15);
    return converted(TensorView(View<const float, 3>(w, {E, N, K})), DType::kBF16);
  }

  ExpertsArgs args(std::vector<float>& y) const {
    y.assign(x.size(), std::numeric_limits<float>::quiet_NaN());
    return {.x = TensorView(View<const float, 2>(x, {T, D})),
            .weights = {.gate = gate.view(), .up = up.view(), .down = down.view()},
            .ids = plan.id(),
            .weight = {weight.data(), {T, k}},
            .offsets = {plan.offsets.data(), {E + 1}},
            .order = {plan.order.data(), {T * k}},
            .y = {y.data(), {T, D}}};
  }

  std::vector<float> grouped(int threads) const {
    const Version<ExpertsArgs> version = experts_cpu_v1_grouped();
    std::vector<float> y;
    const ExpertsArgs a = args(y);
    ThreadPool pool(threads);
    Exec exec(cpu_device(), DType::kBF16, pool, version.workspace(a, cpu_device()));
    version.run(exec, a,
                version.prepare({{"gate", gate.view()}, {"up", up.view()}, {"down", down.view()}},
                                cpu_device()));
    return y;
  }
};

TEST(GroupedExperts, BlocksOfRowsAndAnyNumberOfThreads) {
  const Layer layer;
  ASSERT_GT(layer.plan.counts()[0], 3 * 120);
  ASSERT_LT(layer.plan.counts()[4], 16);
  std::vector<float> want;
  ThreadPool pool(2);
  Exec exec(cpu_device(), DType::kF32, pool, 0);
  experts_reference(exec, layer.args(want));
  const std::vector<float> one = layer.grouped(1);
  const testing::Comparison c =
      testing::compare(one.data(), want.data(), std::ssize(one), {.absolute = 4e-5});
  EXPECT_TRUE(c) << c.message;
  EXPECT_EQ(layer.grouped(2), one);
  EXPECT_EQ(layer.grouped(7), one);
}

TEST(GroupedExperts, WhatDoesNotFitIsRefused) {
  const Layer layer;
  const Version<ExpertsArgs> version = experts_cpu_v1_grouped();
  std::vector<float> y;
  const ExpertsArgs args = layer.args(y);
  ThreadPool threads(1);
  Exec exec(cpu_device(), DType::kBF16, threads, version.workspace(args, cpu_device()));
  const NamedWeight gate = {"gate", layer.gate.view()}, up = {"up", layer.up.view()},
                    down = {"down", layer.down.view()};
  EXPECT_THROW(version.prepare({{"up", up.tensor}, {"down", up.tensor}}, cpu_device()), Error);
  const Prepared gated = version.prepare({gate, up, down}, cpu_device()),
                 plain = version.prepare({up, down}, cpu_device());
  version.run(exec, args, gated);
  EXPECT_THROW(version.run(exec, args, plain), Error);
  ExpertsArgs other = args;
  other.weights.gate = {};
  EXPECT_THROW(version.run(exec, other, gated), Error);
  constexpr std::int64_t E = Layer::E, F = Layer::F, D = Layer::D;
  for (const auto& [e, f, d] : {std::array{E - 1, F, D}, {E, F - 8, D}, {E, F, D - 8}}) {
    const Tensor w = Layer::weights(1, f, d);
    const TensorView matrix(w.view().data(), w.view().dtype(), {e, f, d});
    const TensorView back(w.view().data(), w.view().dtype(), {e, d, f});
    const Prepared unlike =
        version.prepare({{"gate", matrix}, {"up", matrix}, {"down", back}}, cpu_device());
    EXPECT_THROW(version.run(exec, args, unlike), Error) << matrix.describe();
  }
  other = args;
  other.order = {args.order.data(), {args.order.size() - 1}};
  EXPECT_THROW(version.run(exec, other, gated), Error);
}

// By every version, before it touches anything.
TEST(Versions, ShapesThatDoNotFitAreRefused) {
  const auto registry = registry_of(append_versions);
  ThreadPool threads(1);
  const auto run = [&](const auto& version, const auto& args) {
    Exec exec(device_of(version.backend), DType::kF32, threads, 1 << 16);
    version.run(exec, args, Prepared());
  };
  const std::vector<float> logits = {1, 2, 3, 3, 2, 1};
  const std::vector<int> slots = {2, 1, 0, 1};
  std::vector<int> ids(4), offsets(4), order(4);
  std::vector<float> weights(4);
  for (const Version<GatingArgs>& v : registry->versions<GatingArgs>("gating")) {
    if (v.backend == Backend::kCuda) continue;
    GatingArgs a{.logits = {logits.data(), {2, 3}}};
    a.ids = {ids.data(), {2, 2}};
    a.weights = {weights.data(), {2, 2}};
    run(v, a);
    EXPECT_EQ(ids, slots) << v.name;
    a.weights = {weights.data(), {1, 2}};
    EXPECT_THROW(run(v, a), Error) << v.name;
    a.ids = {ids.data(), {1, 2}};
    EXPECT_THROW(run(v, a), Error) << v.name;
  }
  for (const Version<AlignArgs>& v : registry->versions<AlignArgs>("align")) {
    if (v.backend == Backend::kCuda) continue;
    AlignArgs a = {{slots.data(), {2, 2}}, {offsets.data(), {4}}, {order.data(), {4}}};
    run(v, a);
    EXPECT_EQ(order, (std::vector<int>{2, 1, 3, 0})) << v.name;
    a.order = {order.data(), {3}};
    EXPECT_THROW(run(v, a), Error) << v.name;
    a.order = {order.data(), {4}};
    a.offsets = {offsets.data(), {1}};
    EXPECT_THROW(run(v, a), Error) << v.name;
  }
}

constexpr std::int64_t kTokens = 5, kChoices = 3, kExperts = 4, kWidth = 40, kHidden = 24;

// y of a version when every token weighs its choices so.
std::vector<float> weighted(const Version<ExpertsArgs>& version,
                            const std::vector<float>& weights) {
  testing::OperandSettings settings;
  settings.device = device_of(version.backend);
  settings.compute = version.dtypes.contains(DType::kF32) ? DType::kF32 : DType::kBF16;
  testing::Operands o(settings);
  RoutingPlan plan{.tokens = kTokens, .experts = kExperts, .top_k = kChoices};
  for (int slot = 0; slot < kTokens * kChoices; ++slot) plan.ids.push_back((slot * 7 + 2) % 4);
  sort_slots(plan);
  const auto of = [](const auto& values) {
    return [&values](std::int64_t i) {
      return static_cast<double>(values[static_cast<std::size_t>(i) % values.size()]);
    };
  };
  ExpertsArgs a;
  a.x = o.tensor("x", {kTokens, kWidth});
  a.weights.gate = o.weight("gate", {kExperts, kHidden, kWidth});
  a.weights.up = o.weight("up", {kExperts, kHidden, kWidth});
  a.weights.down = o.weight("down", {kExperts, kWidth, kHidden});
  a.ids = o.input<int>("ids", {kTokens, kChoices}, of(plan.ids));
  a.weight = o.input<float>("weight", {kTokens, kChoices}, of(weights));
  a.offsets = o.input<int>("offsets", {kExperts + 1}, of(plan.offsets));
  a.order = o.input<int>("order", {kTokens * kChoices}, of(plan.order));
  a.y = o.output<float>("y", {kTokens, kWidth});
  EXPECT_TRUE(testing::detail::run_version(version, a, o).empty()) << version.name;
  const std::vector<double> y = o.result("y");
  return {y.begin(), y.end()};
}

// From the experts' results one by one, bit for bit. The other order has other bits.
TEST(Experts, EveryVersionSumsInSlotOrder) {
  const std::vector<float> w = {0.7f, -0.3f, 0.55f};
  const auto registry = registry_of(append_versions);
  for (const Version<ExpertsArgs>& v : registry->versions<ExpertsArgs>("experts")) {
    if (v.backend == Backend::kCuda) continue;  // fuses a product with its sum
    const std::vector<float> y = weighted(v, w), a = weighted(v, {1, 0, 0}),
                             b = weighted(v, {0, 1, 0}), c = weighted(v, {0, 0, 1});
    int backwards = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(y[i], (w[0] * a[i] + w[1] * b[i]) + w[2] * c[i]) << v.name << " " << i;
      backwards += y[i] == (w[2] * c[i] + w[1] * b[i]) + w[0] * a[i];
    }
    EXPECT_LT(backwards, std::ssize(y)) << v.name;
  }
}

}  // namespace
}  // namespace octavo::sparse_moe
