#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "02_sparse_moe/routing.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/testing/random.h"

namespace octavo {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

RoutingPlan route(const std::vector<float>& logits, std::int64_t T, std::int64_t E, std::int64_t k,
                  bool normalize = true) {
  return SoftmaxTopKRouter(E, k, normalize).route(View<const float, 2>(logits, {T, E}));
}

TEST(SoftmaxTopK, HandComputed) {
  const RoutingPlan plan =
      route({std::log(1.0f), std::log(4.0f), std::log(3.0f), std::log(2.0f)}, 1, 4, 2);
  EXPECT_EQ(plan.ids, (std::vector<int>{1, 2}));
  EXPECT_NEAR(plan.weights[0], 4.0 / 7, 1e-6);
  EXPECT_NEAR(plan.weights[1], 3.0 / 7, 1e-6);
  const RoutingPlan raw =
      route({std::log(1.0f), std::log(4.0f), std::log(3.0f), std::log(2.0f)}, 1, 4, 2, false);
  EXPECT_NEAR(raw.weights[0], 0.4, 1e-6);
  EXPECT_NEAR(raw.weights[1], 0.3, 1e-6);
}

TEST(SoftmaxTopK, TiesGoToTheLowerId) {
  EXPECT_EQ(route({1, 2, 2, 2, 1}, 1, 5, 3).ids, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(route({0, 0, 0, 0}, 1, 4, 4).ids, (std::vector<int>{0, 1, 2, 3}));
}

// softmax then top-k then renormalise is the softmax of the chosen logits.
TEST(SoftmaxTopK, RenormalisedWeightsAreTheSoftmaxOfTheChosen) {
  const std::vector<float> logits = testing::normal(50 * 16, 3, 3.0);
  const RoutingPlan plan = route(logits, 50, 16, 4);
  for (std::int64_t t = 0; t < 50; ++t) {
    double sum = 0, total = 0;
    for (std::int64_t j = 0; j < 4; ++j)
      sum +=
          std::exp(static_cast<double>(logits[static_cast<std::size_t>(t * 16 + plan.id()(t, j))]));
    for (std::int64_t j = 0; j < 4; ++j) {
      const double want = std::exp(static_cast<double>(
                              logits[static_cast<std::size_t>(t * 16 + plan.id()(t, j))])) /
                          sum;
      EXPECT_NEAR(plan.weight()(t, j), want, 1e-6);
      total += static_cast<double>(plan.weight()(t, j));
      if (j > 0) {
        EXPECT_LE(plan.weight()(t, j), plan.weight()(t, j - 1));
      }
    }
    EXPECT_NEAR(total, 1, 1e-6);
  }
}

// Logits 200 apart underflow: the second weight is 0, but the slot is still counted and still has
// an expert.
TEST(SoftmaxTopK, AWeightMayUnderflowButItsSlotStays) {
  const RoutingPlan plan = route({0, -200, -300}, 1, 3, 2);
  EXPECT_EQ(plan.ids, (std::vector<int>{0, 1}));
  EXPECT_EQ(plan.counts(), (std::vector<std::int64_t>{1, 1, 0}));
  EXPECT_FLOAT_EQ(plan.weights[0], 1.0f);
}

TEST(SoftmaxTopK, ABadRowGetsDistinctIdsAndLeavesTheOthersAlone) {
  const std::vector<float> good = {0.5f, -1, 2, 0};
  for (const std::vector<float>& bad : {std::vector<float>{kNan, 1, 2, 3},
                                        {kNan, kNan, kNan, kNan},
                                        {kInf, 0, kInf, 1},
                                        {-kInf, -kInf, -kInf, -kInf}}) {
    std::vector<float> rows = good;
    rows.insert(rows.end(), bad.begin(), bad.end());
    rows.insert(rows.end(), good.begin(), good.end());
    const RoutingPlan plan = route(rows, 3, 4, 3), alone = route(good, 1, 4, 3);
    EXPECT_EQ(std::set<int>(plan.ids.begin() + 3, plan.ids.begin() + 6).size(), 3u);
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_GE(plan.ids[3 + j], 0);
      EXPECT_LT(plan.ids[3 + j], 4);
      EXPECT_TRUE(std::isnan(plan.weights[3 + j]));
      EXPECT_EQ(plan.ids[j], alone.ids[j]);
      EXPECT_EQ(plan.ids[6 + j], alone.ids[j]);
      EXPECT_EQ(plan.weights[6 + j], alone.weights[j]);
    }
  }
}

TEST(SoftmaxTopK, MinusInfinityMasksAnExpert) {
  const RoutingPlan plan = route({-kInf, 1, -kInf, 0}, 1, 4, 2);
  EXPECT_EQ(plan.ids, (std::vector<int>{1, 3}));
  EXPECT_NEAR(plan.weights[0] + plan.weights[1], 1, 1e-6);
}

TEST(RoutingPlan, SlotsAreSortedByExpertAndStable) {
  RoutingPlan plan{.tokens = 3, .experts = 4, .top_k = 2, .ids = {2, 0, 2, 3, 0, 2}};
  sort_slots(plan);
  EXPECT_EQ(plan.counts(), (std::vector<std::int64_t>{2, 0, 3, 1}));
  EXPECT_EQ(plan.offsets, (std::vector<int>{0, 2, 2, 5, 6}));
  EXPECT_EQ(plan.order, (std::vector<int>{1, 4, 0, 2, 5, 3}));
}

TEST(RoutingPlan, ASlotWithoutAnExpertGoesNowhere) {
  RoutingPlan plan{.tokens = 3, .experts = 3, .top_k = 2, .ids = {2, -1, -1, -1, 0, 2}};
  sort_slots(plan);
  EXPECT_EQ(plan.offsets, (std::vector<int>{0, 1, 1, 3}));
  EXPECT_EQ(plan.order, (std::vector<int>{4, 0, 5, -1, -1, -1}));
  for (int bad : {3, -2}) {
    plan.ids[1] = bad;
    EXPECT_THROW(sort_slots(plan), Error) << bad;
  }
}

TEST(SoftmaxTopK, NoTokensAndOneExpert) {
  EXPECT_TRUE(route({}, 0, 4, 2).order.empty());
  const RoutingPlan plan = route({7, -7}, 2, 1, 1);
  EXPECT_EQ(plan.ids, (std::vector<int>{0, 0}));
  EXPECT_EQ(plan.weights, (std::vector<float>{1, 1}));
}

// Scores that are not numbers come last, in order, and never twice.
TEST(SelectTopK, NanIsBelowEverything) {
  const std::vector<double> scores = {std::nan(""), -1, std::nan(""), -HUGE_VAL, 2};
  std::vector<int> ids(5);
  select_top_k(scores, 5, ids.data());
  EXPECT_EQ(ids, (std::vector<int>{4, 1, 0, 2, 3}));  // -inf ties with what is no number
}

// Its arrays are the host's: a GPU's pointer must not be followed.
TEST(SoftmaxTopK, TheReferenceChoosesOnTheHostAlone) {
  const std::vector<float> logits = {0, 1};
  std::vector<int> ids(1);
  std::vector<float> weights(1);
  ThreadPool threads(1);
  Exec exec(cpu_device(), DType::kF32, threads, 0);
  const auto choose = [&] {
    SoftmaxTopKRouter(2, 1, true)
        .choose(exec, View<const float, 2>(logits, {1, 2}), View<int, 2>(ids, {1, 1}),
                View<float, 2>(weights, {1, 1}));
  };
  choose();
  EXPECT_EQ(ids[0], 1);
  EXPECT_EQ(weights[0], 1);
  exec.device.backend = Backend::kCuda;
  EXPECT_THROW(choose(), Error);
}

TEST(SoftmaxTopK, TopKOutsideTheExpertsIsRefused) {
  EXPECT_THROW(SoftmaxTopKRouter(4, 5, true), Error);
  EXPECT_THROW(SoftmaxTopKRouter(4, 0, true), Error);
  EXPECT_THROW(SoftmaxTopKRouter({.experts = 4, .top_k = 2, .bias = {1, 2, 3}}), Error);
  EXPECT_THROW(SoftmaxTopKRouter(4, 2, true).route(View<const float, 2>(nullptr, {0, 3})), Error);
}

// The host's way writes as much as the plan has, so that it must fit.
TEST(Router, ChoosesIntoViewsOfTheRightExtents) {
  const SoftmaxTopKRouter router(4, 2, true);
  const std::vector<float> logits = {1, 2, 3, 4, 4, 3, 2, 1};
  ThreadPool threads(1);
  Exec exec(cpu_device(), DType::kF32, threads, 0);
  std::vector<int> ids(4, -7);
  std::vector<float> weights(4);
  const auto choose = [&](std::int64_t T, std::int64_t k) {
    router.choose(exec, View<const float, 2>(logits, {2, 4}), View<int, 2>(ids.data(), {T, k}),
                  View<float, 2>(weights.data(), {T, k}));
  };
  EXPECT_THROW(choose(1, 2), Error);
  EXPECT_THROW(choose(2, 1), Error);
  EXPECT_EQ(ids, std::vector<int>(4, -7));
  choose(2, 2);
  EXPECT_EQ(ids, (std::vector<int>{3, 2, 0, 1}));
}

}  // namespace
}  // namespace octavo
