#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "02_sparse_moe/moe.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/testing/random.h"

namespace octavo {
namespace {

TensorView matrix(const std::vector<float>& w, std::int64_t N, std::int64_t K) {
  return TensorView(View<const float, 2>(w.data(), {N, K}));
}

// Expert e multiplies its rows by e + 1 and remembers how many it saw, and how often it ran.
class ScalingExperts : public LoopedExperts {
 public:
  explicit ScalingExperts(std::int64_t experts) : rows(static_cast<std::size_t>(experts)) {}
  std::int64_t experts() const override { return static_cast<std::int64_t>(rows.size()); }
  mutable std::vector<std::int64_t> rows;
  mutable int runs = 0;

 protected:
  std::int64_t expert_workspace(std::int64_t) const override { return 0; }
  void forward_expert(Exec&, std::int64_t e, View<const float, 2> x,
                      View<float, 2> y) const override {
    ++runs;
    rows[static_cast<std::size_t>(e)] += x.extent(0);
    for (std::int64_t i = 0; i < x.size(); ++i)
      y.data()[i] = x.data()[i] * static_cast<float>(e + 1);
  }
};

class MoeTest : public ::testing::Test {
 protected:
  ThreadPool threads_{2};
  Exec exec_{cpu_device(), DType::kF32, threads_, 1 << 20};
};

TEST_F(MoeTest, SumsTheChosenExpertsByWeight) {
  const std::vector<int> ids = {3, 0, 1, 3};
  const std::vector<float> weights = {0.75f, 0.25f, 0.5f, 0.5f}, x = {1, 2, 10, 20};
  const ScalingExperts experts(4);
  std::vector<float> y(4);
  experts.forward(exec_, View<const float, 2>(x, {2, 2}), View<const int, 2>(ids, {2, 2}),
                  View<const float, 2>(weights, {2, 2}), View<float, 2>(y, {2, 2}));
  EXPECT_EQ(y, (std::vector<float>{3.25f, 6.5f, 30, 60}));
  EXPECT_EQ(experts.rows, (std::vector<std::int64_t>{1, 1, 0, 2}));
  EXPECT_EQ(experts.runs, 3);  // an expert without rows does not run
}

TEST_F(MoeTest, ASlotWithoutAnExpertAddsNothing) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<int> ids = {3, -1, -1, -1};
  const std::vector<float> weights = {0.75f, kNan, kNan, kNan}, x = {1, 2, 10, 20};
  std::vector<float> y(4, kNan);
  ScalingExperts(4).forward(exec_, View<const float, 2>(x, {2, 2}), View<const int, 2>(ids, {2, 2}),
                            View<const float, 2>(weights, {2, 2}), View<float, 2>(y, {2, 2}));
  EXPECT_EQ(y, (std::vector<float>{3, 6, 0, 0}));
}

TEST_F(MoeTest, LoopedExpertsRefuseAnotherDeviceAndRowsThatDoNotFit) {
  const ScalingExperts experts(4);
  const std::vector<int> ids = {3, 0};
  const std::vector<float> weights(4), x(6);
  std::vector<float> y(6);
  const auto forward = [&](std::int64_t x_rows, std::int64_t y_rows, std::int64_t weight_rows) {
    experts.forward(exec_, {x.data(), {x_rows, 2}}, {ids.data(), {2, 1}},
                    {weights.data(), {weight_rows, 1}}, {y.data(), {y_rows, 2}});
  };
  forward(2, 2, 2);
  EXPECT_THROW(forward(3, 3, 2), Error);
  EXPECT_THROW(forward(2, 3, 2), Error);
  EXPECT_THROW(forward(2, 2, 3), Error);
  exec_.device.backend = Backend::kCuda;
  EXPECT_THROW(forward(2, 2, 2), Error);
}

struct Layer {
  static constexpr std::int64_t D = 8, F = 6, E = 5, k = 2;
  std::vector<std::vector<float>> weights;
  std::unique_ptr<MoeLayer> moe;

  Layer() {
    for (std::uint32_t i = 0; i < 3 * E + 1; ++i)
      weights.push_back(testing::normal(i == 3 * E ? E * D : F * D, 10 + i, 0.5));
    const auto linear = [&](std::size_t i, std::int64_t N, std::int64_t K) {
      return ReferenceLinearFactory().make(matrix(weights[i], N, K));
    };
    std::vector<std::unique_ptr<FeedForward>> experts;
    for (std::size_t e = 0; e < E; ++e) {
      experts.push_back(
          ReferenceLinearFactory().make_ffn({.gate = matrix(weights[3 * e], F, D),
                                             .up = matrix(weights[3 * e + 1], F, D),
                                             .down = matrix(weights[3 * e + 2], D, F)}));
    }
    moe = std::make_unique<MoeLayer>(linear(3 * E, E, D),
                                     std::make_unique<SoftmaxTopKRouter>(E, k, true),
                                     std::make_unique<SeparateExperts>(std::move(experts)));
  }

  std::vector<float> forward(Exec& exec, const std::vector<float>& x) const {
    const auto T = static_cast<std::int64_t>(x.size()) / D;
    std::vector<float> y(x.size(), std::numeric_limits<float>::quiet_NaN());
    moe->forward(exec, View<const float, 2>(x, {T, D}), View<float, 2>(y, {T, D}));
    return y;
  }
};

TEST_F(MoeTest, ARowOfABatchIsTheRowAloneAndPermutingRowsPermutesOutputs) {
  const Layer layer;
  constexpr std::int64_t T = 17;
  const std::vector<float> x = testing::normal(T * Layer::D, 99);
  const std::vector<float> all = layer.forward(exec_, x);
  std::vector<float> reversed;
  for (std::int64_t t = T - 1; t >= 0; --t)
    reversed.insert(reversed.end(), x.begin() + t * Layer::D, x.begin() + (t + 1) * Layer::D);
  const std::vector<float> back = layer.forward(exec_, reversed);
  for (std::int64_t t = 0; t < T; ++t) {
    const std::vector<float> row(x.begin() + t * Layer::D, x.begin() + (t + 1) * Layer::D);
    const std::vector<float> want(all.begin() + t * Layer::D, all.begin() + (t + 1) * Layer::D);
    EXPECT_EQ(layer.forward(exec_, row), want);
    EXPECT_TRUE(std::equal(want.begin(), want.end(), back.begin() + (T - 1 - t) * Layer::D));
  }
}

TEST_F(MoeTest, ANanRowStaysAlone) {
  const Layer layer;
  std::vector<float> x = testing::normal(3 * Layer::D, 5);
  const std::vector<float> clean = layer.forward(exec_, x);
  x[Layer::D] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> dirty = layer.forward(exec_, x);
  EXPECT_TRUE(std::equal(clean.begin(), clean.begin() + Layer::D, dirty.begin()));
  EXPECT_TRUE(std::equal(clean.begin() + 2 * Layer::D, clean.end(), dirty.begin() + 2 * Layer::D));
}

TEST_F(MoeTest, ObserverSeesThePlan) {
  const Layer layer;
  std::vector<std::int64_t> counts;
  layer.moe->observe([&](const RoutingPlan& plan) { counts = plan.counts(); });
  layer.forward(exec_, testing::normal(6 * Layer::D, 5));
  EXPECT_EQ(std::ssize(counts), Layer::E);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), 6 * Layer::k);
}

TEST_F(MoeTest, NoTokens) { EXPECT_TRUE(Layer().forward(exec_, {}).empty()); }

// Parts that take so many bytes of the workspace for a row and do nothing with them.
struct NeedyLinear : Linear {
  explicit NeedyLinear(std::int64_t b) : bytes(b) {}
  std::int64_t inputs() const override { return 2; }
  std::int64_t outputs() const override { return 4; }
  std::int64_t workspace(std::int64_t T) const override {
    return Workspace::bytes_for<char>(bytes * T);
  }
  void forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const override {
    const Workspace::Scope scope(exec.workspace);
    exec.workspace.take<char>(bytes * x.extent(0));
    std::fill_n(y.data(), y.size(), 0.0f);
  }
  std::int64_t bytes;
};
struct NeedyRouter : SoftmaxTopKRouter {
  explicit NeedyRouter(std::int64_t b) : SoftmaxTopKRouter(4, 2, true), bytes(b) {}
  std::int64_t workspace(std::int64_t T) const override {
    return Workspace::bytes_for<char>(bytes * T);
  }
  void choose(Exec& exec, View<const float, 2> logits, View<int, 2> ids,
              View<float, 2> weights) const override {
    const Workspace::Scope scope(exec.workspace);
    exec.workspace.take<char>(bytes * logits.extent(0));
    SoftmaxTopKRouter::choose(exec, logits, ids, weights);
  }
  std::int64_t bytes;
};
struct NeedyFeedForward : FeedForward {
  explicit NeedyFeedForward(std::int64_t b) : bytes(b) {}
  std::int64_t workspace(std::int64_t T) const override {
    return Workspace::bytes_for<char>(bytes * T);
  }
  void forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const override {
    const Workspace::Scope scope(exec.workspace);
    exec.workspace.take<char>(bytes * x.extent(0));
    std::copy_n(x.data(), y.size(), y.data());
  }
  std::int64_t bytes;
};

// Whichever part needs most, and in every further forward too.
TEST_F(MoeTest, TheWorkspaceItAsksForIsEnough) {
  constexpr std::int64_t kMuch = 4096, kT = 3;
  for (std::size_t needy = 0; needy < 4; ++needy) {
    const auto bytes = [&](std::size_t part) { return part == needy ? kMuch : 1; };
    std::vector<std::unique_ptr<FeedForward>> experts;
    for (std::size_t e = 0; e < 4; ++e) {  // all rows go to experts 0 and 1
      experts.push_back(std::make_unique<NeedyFeedForward>(e < 2 ? bytes(2 + e) : 1));
    }
    const MoeLayer layer(std::make_unique<NeedyLinear>(bytes(0)),
                         std::make_unique<NeedyRouter>(bytes(1)),
                         std::make_unique<SeparateExperts>(std::move(experts)));
    Exec exec(cpu_device(), DType::kF32, threads_, layer.workspace(kT));
    const std::vector<float> x = {1, 2, 3, 4, 5, 6};
    for (int run = 0; run < 2; ++run) {
      std::vector<float> y(6);
      layer.forward(exec, View<const float, 2>(x, {kT, 2}), View<float, 2>(y, {kT, 2}));
      EXPECT_EQ(y, x) << needy;
    }
  }
}

// A token may name an expert twice, which then has T k rows.
TEST_F(MoeTest, TheWorkspaceIsEnoughForOneExpertWithEverySlot) {
  std::vector<std::unique_ptr<FeedForward>> one;
  one.push_back(std::make_unique<NeedyFeedForward>(4096));
  const SeparateExperts experts(std::move(one));
  Exec exec(cpu_device(), DType::kF32, threads_, experts.workspace(1, 2));
  const std::vector<int> ids = {0, 0};
  const std::vector<float> weights = {0.75f, 0.5f}, x = {4, 8};
  std::vector<float> y(2);
  experts.forward(exec, View<const float, 2>(x, {1, 2}), View<const int, 2>(ids, {1, 2}),
                  View<const float, 2>(weights, {1, 2}), View<float, 2>(y, {1, 2}));
  EXPECT_EQ(y, (std::vector<float>{5, 10}));
}

TEST_F(MoeTest, PartsThatDisagreeOnTheExpertsAreRefused) {
  const std::vector<float> w(8);
  const auto gate = [&] { return ReferenceLinearFactory().make(matrix(w, 4, 2)); };
  EXPECT_THROW(MoeLayer(gate(), std::make_unique<SoftmaxTopKRouter>(5, 1, true),
                        std::make_unique<ScalingExperts>(4)),
               Error);
  EXPECT_THROW(MoeLayer(gate(), std::make_unique<SoftmaxTopKRouter>(4, 1, true),
                        std::make_unique<ScalingExperts>(5)),
               Error);
}

}  // namespace
}  // namespace octavo
