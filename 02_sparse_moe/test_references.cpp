// The references of the topics against values by hand.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "02_sparse_moe/align.h"
#include "02_sparse_moe/experts.h"
#include "02_sparse_moe/gating.h"
#include "common/base/error.h"
#include "common/base/threads.h"

namespace octavo {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Gated {
  std::vector<int> ids;
  std::vector<float> weights;
};

Gated gate(const std::vector<float>& logits, std::int64_t E, std::int64_t k, SoftmaxOrder order,
           bool normalize, const std::vector<float>& bias = {}) {
  const std::int64_t T = static_cast<std::int64_t>(logits.size()) / E;
  Gated g{std::vector<int>(static_cast<std::size_t>(T * k)),
          std::vector<float>(static_cast<std::size_t>(T * k))};
  gating_reference({.logits = {logits.data(), {T, E}},
                    .bias = {bias.data(), {static_cast<std::int64_t>(bias.size())}},
                    .order = order,
                    .normalize = normalize,
                    .ids = {g.ids.data(), {T, k}},
                    .weights = {g.weights.data(), {T, k}}});
  return g;
}

// p = (0.1, 0.4, 0.3, 0.2).
const std::vector<float> kLogits = {std::log(1.0f), std::log(4.0f), std::log(3.0f), std::log(2.0f)};

TEST(GatingReference, ByHandInBothOrders) {
  const Gated all = gate(kLogits, 4, 2, SoftmaxOrder::kSoftmaxTopK, false);
  EXPECT_EQ(all.ids, (std::vector<int>{1, 2}));
  EXPECT_NEAR(all.weights[0], 0.4, 1e-6);
  EXPECT_NEAR(all.weights[1], 0.3, 1e-6);
  for (const Gated& g : {gate(kLogits, 4, 2, SoftmaxOrder::kSoftmaxTopK, true),
                         gate(kLogits, 4, 2, SoftmaxOrder::kTopKSoftmax, false)}) {
    EXPECT_EQ(g.ids, (std::vector<int>{1, 2}));
    EXPECT_NEAR(g.weights[0], 4.0 / 7, 1e-6);
    EXPECT_NEAR(g.weights[1], 3.0 / 7, 1e-6);
  }
}

TEST(GatingReference, TheBiasIsPartOfTheScoreAndOfTheWeight) {
  const Gated g =
      gate(kLogits, 4, 2, SoftmaxOrder::kSoftmaxTopK, false, {std::log(10.0f), 0, 0, 0});
  EXPECT_EQ(g.ids, (std::vector<int>{0, 1}));  // 10 : 4 : 3 : 2
  EXPECT_NEAR(g.weights[0], 10.0 / 19, 1e-6);
  EXPECT_NEAR(g.weights[1], 4.0 / 19, 1e-6);
}

TEST(GatingReference, TiesMasksAndRowsWithoutASoftmax) {
  constexpr auto kOrder = SoftmaxOrder::kTopKSoftmax;
  EXPECT_EQ(gate({1, 2, 2, 2, 1}, 5, 3, kOrder, true).ids, (std::vector<int>{1, 2, 3}));
  const Gated masked = gate({-kInf, 1, -kInf, 0}, 4, 3, kOrder, true);
  EXPECT_EQ(masked.ids, (std::vector<int>{1, 3, 0}));
  EXPECT_EQ(masked.weights[2], 0);
  for (const std::vector<float>& bad :
       {std::vector<float>{0, kNan, 1}, {0, 1, kInf}, {-kInf, -kInf, -kInf}}) {
    const Gated g = gate(bad, 3, 2, kOrder, true);
    EXPECT_EQ(g.ids, (std::vector<int>{0, 1}));
    EXPECT_TRUE(std::isnan(g.weights[0]) && std::isnan(g.weights[1]));
  }
}

TEST(GatingReference, ShapesThatDoNotFitAreRefused) {
  EXPECT_THROW(gate(kLogits, 4, 5, SoftmaxOrder::kSoftmaxTopK, true), Error);
  EXPECT_THROW(gate(kLogits, 4, 0, SoftmaxOrder::kSoftmaxTopK, true), Error);
  EXPECT_THROW(gate(kLogits, 4, 2, SoftmaxOrder::kSoftmaxTopK, true, {1, 2, 3}), Error);
}

TEST(AlignReference, SortsSlotsByExpertAndLeavesOutWhatGoesNowhere) {
  const std::vector<int> ids = {2, 0, 2, -1, 0, 4, 2, 3};
  std::vector<int> offsets(5), order(8);
  align_reference({{ids.data(), {4, 2}}, {offsets.data(), {5}}, {order.data(), {8}}});
  EXPECT_EQ(offsets, (std::vector<int>{0, 2, 2, 5, 6}));
  EXPECT_EQ(order, (std::vector<int>{1, 4, 0, 2, 6, 7, -1, -1}));
  EXPECT_THROW(align_reference({{ids.data(), {4, 2}}, {offsets.data(), {5}}, {order.data(), {7}}}),
               Error);
}

// Two experts of D = F = 1 without a gate: expert e multiplies relu(x) by 10^e.
TEST(ExpertsReference, SumsTheChosenExpertsByWeight) {
  const std::vector<float> x = {1, 2, 3}, up = {1, 1}, down = {1, 10};
  const std::vector<int> ids = {0, 1, 1, -1, 1, 1}, offsets = {0, 1, 5},
                         order = {0, 1, 2, 4, 5, -1};
  const std::vector<float> weight = {0.5f, 0.25f, 2, kNan, 1, 1};
  std::vector<float> y(3, kNan);
  ExpertsArgs a;
  a.x = TensorView(View<const float, 2>(x, {3, 1}));
  a.weights.activation = Activation::kRelu;
  a.weights.up = TensorView(View<const float, 3>(up, {2, 1, 1}));
  a.weights.down = TensorView(View<const float, 3>(down, {2, 1, 1}));
  a.ids = {ids.data(), {3, 2}};
  a.weight = {weight.data(), {3, 2}};
  a.offsets = {offsets.data(), {3}};
  a.order = {order.data(), {6}};
  a.y = {y.data(), {3, 1}};
  ThreadPool threads(1);
  Exec exec(cpu_device(), DType::kF32, threads, 0);
  experts_reference(exec, a);
  EXPECT_EQ(y,
            (std::vector<float>{3, 40, 60}));  // a slot without an expert adds 0, whatever weight
  a.offsets = {offsets.data(), {2}};
  EXPECT_THROW(experts_reference(exec, a), Error);
}

TEST(ExpertsReference, WeightsThatDoNotFitAreRefused) {
  const auto stack = [](DType type, std::int64_t E, std::int64_t N, std::int64_t K) {
    return TensorView(nullptr, type, {E, N, K});
  };
  constexpr DType kF32 = DType::kF32, kBF16 = DType::kBF16;
  const ExpertStack good = {
      .gate = stack(kF32, 2, 3, 4), .up = stack(kF32, 2, 3, 4), .down = stack(kF32, 2, 4, 3)};
  check_shapes(good);
  EXPECT_THROW(good.expert(2), Error);
  EXPECT_THROW(good.expert(-1), Error);
  for (const TensorView& down :
       {stack(kBF16, 2, 4, 3), stack(kF32, 1, 4, 3), stack(kF32, 2, 3, 3), stack(kF32, 2, 4, 4)}) {
    ExpertStack w = good;
    w.down = down;
    EXPECT_THROW(check_shapes(w), Error) << down.describe();
  }
  for (const TensorView& gate : {stack(kBF16, 2, 3, 4), stack(kF32, 2, 4, 3)}) {
    ExpertStack w = good;
    w.gate = gate;
    EXPECT_THROW(check_shapes(w), Error) << gate.describe();
  }
}

// Extents only: a kernel counts slots and columns in int.
ExpertsArgs shape_of_experts(std::int64_t T, std::int64_t k, std::int64_t D, std::int64_t F) {
  ExpertsArgs a;
  a.weights.up = {nullptr, DType::kF32, {2, F, D}};
  a.weights.down = {nullptr, DType::kF32, {2, D, F}};
  a.x = {nullptr, DType::kF32, {T, D}};
  a.ids = {nullptr, {T, k}};
  a.weight = {nullptr, {T, k}};
  a.offsets = {nullptr, {3}};
  a.order = {nullptr, {T * k}};
  a.y = {nullptr, {T, D}};
  return a;
}

TEST(ExpertsReference, ShapesThatDoNotFitAreRefused) {
  const ExpertsArgs good = shape_of_experts(3, 2, 4, 5);
  check_shapes(good);
  const auto refused = [&](auto change) {
    ExpertsArgs a = good;
    change(a);
    EXPECT_THROW(check_shapes(a), Error);
  };
  refused([](ExpertsArgs& a) { a.x = {nullptr, DType::kF32, {3, 5}}; });
  refused([](ExpertsArgs& a) { a.y = {nullptr, {2, 4}}; });
  refused([](ExpertsArgs& a) { a.y = {nullptr, {3, 5}}; });
  refused([](ExpertsArgs& a) { a.weight = {nullptr, {3, 1}}; });
  refused([](ExpertsArgs& a) { a.offsets = {nullptr, {2}}; });
  refused([](ExpertsArgs& a) { a.order = {nullptr, {5}}; });
  constexpr std::int64_t kInt = std::int64_t{1} << 31;
  check_shapes(shape_of_experts(kInt / 4, 2, 4, 5));
  EXPECT_THROW(check_shapes(shape_of_experts(kInt / 2, 2, 4, 5)), Error);
  EXPECT_THROW(check_shapes(shape_of_experts(3, 2, kInt, 5)), Error);
  EXPECT_THROW(check_shapes(shape_of_experts(3, 2, 4, kInt)), Error);
  const auto slots = [](std::int64_t T) {
    return AlignArgs{{nullptr, {T, 2}}, {nullptr, {3}}, {nullptr, {T * 2}}};
  };
  check_shapes(slots(kInt / 4));
  EXPECT_THROW(check_shapes(slots(kInt / 2)), Error);
}

TEST(Work, OfAGateIsAnExponentialALogitOfASortItsSlotsInAndOut) {
  EXPECT_EQ(gating_work(2, 8, 3).flops, 3 * 16);  // difference, exponential, sum
  EXPECT_EQ(gating_work(2, 8, 3).bytes, 4 * 16 + 8 * 6);
  EXPECT_EQ(align_work(2, 3, 8).bytes, 8 * 6 + 4 * 9);
}

TEST(ExpertsWork, CountsTheExpertsThatAreReached) {
  EXPECT_DOUBLE_EQ(touched_experts(1, 2, 8), 2);
  EXPECT_NEAR(touched_experts(4, 2, 8), 5.46875, 1e-9);  // 8 (1 - 0.75^4)
  EXPECT_DOUBLE_EQ(touched_experts(3, 4, 4), 4);
  const Work w = experts_work(1, 2, 2, 4096, 14336, 3, 2);  // Mixtral, one token
  EXPECT_DOUBLE_EQ(w.flops, 2.0 * 2 * 3 * 4096 * 14336);
  EXPECT_DOUBLE_EQ(w.bytes, 2.0 * 3 * 4096 * 14336 * 2 + 8 * 4096);
}

}  // namespace
}  // namespace octavo
