#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "03_switch_deepseek_routing/deepseek_routing.h"
#include "03_switch_deepseek_routing/deepseek_versions.h"
#include "03_switch_deepseek_routing/grouped_top_k.h"
#include "03_switch_deepseek_routing/versions.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/testing/random.h"

namespace octavo {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }

// The logit whose score is s.
float logit(double s) { return static_cast<float>(std::log(s / (1 - s))); }

// One row whose biased scores are b: every score is 1/2, the rest is bias.
RoutingPlan route_biased(const DeepseekRouting& routing, const std::vector<float>& b) {
  std::vector<float> bias(b);
  for (float& value : bias) value -= 0.5f;
  const std::vector<float> logits(b.size());
  return DeepseekRouter(routing, bias)
      .route(View<const float, 2>(logits, {1, static_cast<std::int64_t>(b.size())}));
}

// n biases below zero, so that a mask or a sentinel of 0 would win.
std::vector<float> negative_biases(std::int64_t n, std::uint32_t stream) {
  std::vector<float> bias = testing::normal(n, stream, 0.7);
  for (float& b : bias) b = -1.5f - std::abs(b);
  return bias;
}

TEST(DeepseekRouting, HandComputed) {
  // Scores 0.2, 0.8, 0.5, 0.4 and biases that change the order of the last two.
  const std::vector<float> logits = {logit(0.2), logit(0.8), logit(0.5), logit(0.4)};
  const DeepseekRouter router({.experts = 4, .top_k = 2, .scaling = 2.5}, {-1, -1, -1, -0.85f});
  const RoutingPlan plan = router.route(View<const float, 2>(logits, {1, 4}));
  EXPECT_EQ(plan.ids, (std::vector<int>{1, 3}));
  EXPECT_NEAR(plan.weights[0], 2.5 * 0.8 / 1.2, 1e-6);
  EXPECT_NEAR(plan.weights[1], 2.5 * 0.4 / 1.2, 1e-6);
}

TEST(DeepseekRouting, ExpertsOfOtherGroupsAreMaskedByMinusInfinity) {
  const DeepseekRouting routing{.experts = 4, .top_k = 2, .groups = 2, .top_groups = 1};
  EXPECT_EQ(route_biased(routing, {0.5f, -0.2f, -0.3f, -0.4f}).ids, (std::vector<int>{0, 1}));
  EXPECT_EQ(route_biased(routing, {-0.3f, -0.4f, 0.5f, -0.2f}).ids, (std::vector<int>{2, 3}));
}

TEST(DeepseekRouting, AGroupIsScoredByTheSumOfItsBestTwo) {
  const DeepseekRouting routing{.experts = 4, .top_k = 1, .groups = 2, .top_groups = 1};
  EXPECT_EQ(route_biased(routing, {0.9f, 0.1f, 0.6f, 0.55f}).ids, (std::vector<int>{2}));
  EXPECT_EQ(route_biased({.experts = 6, .top_k = 1, .groups = 2, .top_groups = 1},
                         {0.5f, 0.5f, 0.5f, 0.6f, 0.6f, -9})
                .ids,
            (std::vector<int>{3}));  // not the sum of all
}

TEST(DeepseekRouting, TheBiasSelectsButDoesNotWeigh) {
  const std::vector<float> logits = {logit(0.6), logit(0.5)};
  for (bool normalize : {false, true}) {
    const DeepseekRouter router({.experts = 2, .top_k = 1, .normalize = normalize, .scaling = 2.5},
                                {0, 0.3f});
    const RoutingPlan plan = router.route(View<const float, 2>(logits, {1, 2}));
    EXPECT_EQ(plan.ids, (std::vector<int>{1}));
    EXPECT_NEAR(plan.weights[0], normalize ? 2.5 : 0.5 * 2.5, 1e-6);
  }
}

TEST(DeepseekRouting, ScoresThatAreAllNegativeAreNoSpecialCase) {
  const RoutingPlan plan = route_biased({.experts = 4, .top_k = 3}, {-3.0f, -1.0f, -2.0f, -4.0f});
  EXPECT_EQ(plan.ids, (std::vector<int>{1, 2, 0}));
}

TEST(DeepseekRouting, TiesGoToTheLowerExpertAndTheLowerGroup) {
  EXPECT_EQ(route_biased({.experts = 6, .top_k = 3}, {-1, -1, -1, -1, -1, -1}).ids,
            (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(route_biased({.experts = 6, .top_k = 4, .groups = 3, .top_groups = 2},
                         {-1, -2, -2, -1, -1, -2})
                .ids,
            (std::vector<int>{0, 3, 1, 2}));
}

class DeepseekRoutingOfSize : public ::testing::TestWithParam<DeepseekRouting> {};

// Against the definition, by other means: all pairs of a group for its score, then a sort.
TEST_P(DeepseekRoutingOfSize, IsTheDefinition) {
  const DeepseekRouting r = GetParam();
  constexpr std::int64_t T = 40;
  const std::vector<float> logits = testing::normal(T * r.experts, 3, 2.0);
  const std::vector<float> bias = negative_biases(r.experts, 4);
  const RoutingPlan plan =
      DeepseekRouter(r, bias).route(View<const float, 2>(logits, {T, r.experts}));
  const std::int64_t size = r.experts / r.groups;
  for (std::int64_t t = 0; t < T; ++t) {
    const auto score = [&](std::int64_t e) {
      return sigmoid(static_cast<double>(logits[static_cast<std::size_t>(t * r.experts + e)]));
    };
    const auto biased = [&](std::int64_t e) {
      return score(e) + static_cast<double>(bias[static_cast<std::size_t>(e)]);
    };
    std::vector<std::pair<double, std::int64_t>> groups, experts;
    for (std::int64_t g = 0; g < r.groups; ++g) {
      double best = -std::numeric_limits<double>::infinity();
      for (std::int64_t a = g * size; a < (g + 1) * size; ++a) {
        for (std::int64_t b = g * size; b < a; ++b) best = std::max(best, biased(a) + biased(b));
      }
      groups.emplace_back(-best, g);
    }
    std::sort(groups.begin(), groups.end());
    for (std::int64_t i = 0; i < r.top_groups; ++i) {
      const std::int64_t g = groups[static_cast<std::size_t>(i)].second;
      for (std::int64_t e = g * size; e < (g + 1) * size; ++e) experts.emplace_back(-biased(e), e);
    }
    std::sort(experts.begin(), experts.end());
    double sum = 0;
    for (std::int64_t j = 0; j < r.top_k; ++j) {
      sum += score(experts[static_cast<std::size_t>(j)].second);
    }
    for (std::int64_t j = 0; j < r.top_k; ++j) {
      const std::int64_t e = experts[static_cast<std::size_t>(j)].second;
      EXPECT_EQ(plan.id()(t, j), e) << "row " << t << " choice " << j;
      EXPECT_NEAR(plan.weight()(t, j), score(e) / (r.normalize ? sum : 1) * r.scaling, 1e-6);
    }
  }
  EXPECT_EQ(plan.offsets.back(), T * r.top_k);
}

TEST_P(DeepseekRoutingOfSize, ABadRowGetsDistinctIdsAndLeavesTheOthersAlone) {
  const DeepseekRouting r = GetParam();
  std::vector<float> logits = testing::normal(3 * r.experts, 8);
  const DeepseekRouter router(r, negative_biases(r.experts, 9));
  const RoutingPlan clean = router.route(View<const float, 2>(logits, {3, r.experts}));
  for (std::int64_t bad = 0; bad < r.experts; bad += std::max<std::int64_t>(1, r.experts / 3)) {
    std::vector<float> dirty = logits;
    dirty[static_cast<std::size_t>(r.experts + bad)] = kNan;
    const RoutingPlan plan = router.route(View<const float, 2>(dirty, {3, r.experts}));
    std::set<int> distinct;
    for (std::int64_t j = 0; j < r.top_k; ++j) {
      distinct.insert(plan.id()(1, j));
      EXPECT_GE(plan.id()(1, j), 0);
      EXPECT_LT(plan.id()(1, j), r.experts);
      EXPECT_TRUE(std::isnan(plan.weight()(1, j)));
      for (std::int64_t t : {0, 2}) {
        EXPECT_EQ(plan.id()(t, j), clean.id()(t, j));
        EXPECT_EQ(plan.weight()(t, j), clean.weight()(t, j));
      }
    }
    EXPECT_EQ(std::ssize(distinct), r.top_k);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, DeepseekRoutingOfSize,
    ::testing::Values(
        DeepseekRouting{.experts = 1, .top_k = 1},
        DeepseekRouting{.experts = 3, .top_k = 2, .normalize = false, .scaling = 3},
        DeepseekRouting{.experts = 16, .top_k = 4, .groups = 4, .top_groups = 2, .scaling = 2.5},
        DeepseekRouting{
            .experts = 60, .top_k = 5, .groups = 3, .top_groups = 2, .normalize = false},
        DeepseekRouting{.experts = 60, .top_k = 60},
        DeepseekRouting{.experts = 256, .top_k = 8, .groups = 8, .top_groups = 4, .scaling = 2.5},
        DeepseekRouting{.experts = 256, .top_k = 6}),
    [](const auto& test) {
      return "E" + std::to_string(test.param.experts) + "k" + std::to_string(test.param.top_k);
    });

TEST(DeepseekRouting, InfiniteLogitsAreScoresOfZeroAndOne) {
  const std::vector<float> logits = {-kInf, kInf, 0, -kInf};
  const DeepseekRouter router({.experts = 4, .top_k = 3}, {-1, -2, -2, -3});
  const RoutingPlan plan = router.route(View<const float, 2>(logits, {1, 4}));
  EXPECT_EQ(plan.ids, (std::vector<int>{0, 1, 2}));  // biased -1, -1, -1.5, -3
  EXPECT_EQ(plan.weights[0], 0);                     // the weight is 0, the slot stays
  EXPECT_NEAR(plan.weights[1], 2.0 / 3, 1e-6);
  EXPECT_EQ(plan.counts(), (std::vector<std::int64_t>{1, 1, 1, 0}));
}

// With every chosen score 0 the sum is 0, and the weights are 0 rather than NaN.
TEST(DeepseekRouting, NothingToNormalise) {
  const std::vector<float> logits(4, -kInf);
  const RoutingPlan plan = DeepseekRouter({.experts = 4, .top_k = 2}, {-1, -2, -3, -4})
                               .route(View<const float, 2>(logits, {1, 4}));
  EXPECT_EQ(plan.weights, (std::vector<float>{0, 0}));
}

TEST(DeepseekRouting, NoTokens) {
  EXPECT_TRUE(DeepseekRouter({.experts = 4, .top_k = 2}, negative_biases(4, 1))
                  .route(View<const float, 2>(nullptr, {0, 4}))
                  .order.empty());
}

TEST(DeepseekRouting, WhatDoesNotFitIsRefused) {
  const auto make = [](const DeepseekRouting& r, std::size_t biases = 8, float bias = -1) {
    DeepseekRouter(r, std::vector<float>(biases, bias));
  };
  EXPECT_NO_THROW(make({.experts = 8, .top_k = 4, .groups = 4, .top_groups = 2}));
  EXPECT_NO_THROW(make({.experts = 8,
                        .top_k = 2,
                        .groups = 8,
                        .top_groups = 2,
                        .group_score = GroupScore::kBest}));  // one expert is its group's best
  for (const DeepseekRouting& bad : {DeepseekRouting{.experts = 8, .top_k = 9},
                                     {.experts = 8, .top_k = 0},
                                     {.experts = 8, .top_k = 5, .groups = 4, .top_groups = 2},
                                     {.experts = 8, .top_k = 1, .groups = 0},
                                     {.experts = 8, .top_k = 1, .groups = 3, .top_groups = 1},
                                     {.experts = 8, .top_k = 1, .groups = 8, .top_groups = 1},
                                     {.experts = 8, .top_k = 1, .groups = 4, .top_groups = 5},
                                     {.experts = 8, .top_k = 1, .groups = 4, .top_groups = 0}}) {
    EXPECT_THROW(make(bad), Error);
  }
  EXPECT_THROW(make({.experts = 8, .top_k = 4}, 7), Error);
  EXPECT_THROW(make({.experts = 8, .top_k = 4}, 8, kNan), Error);
  EXPECT_THROW(make({.experts = 8, .top_k = 4}, 8, -kInf), Error);
  EXPECT_THROW(DeepseekRouter({.experts = 2, .top_k = 1}, {-1, -1})
                   .route(View<const float, 2>(nullptr, {0, 3})),
               Error);
}

// What a decoder gets: the same choices from a factory of versions as from the reference.
TEST(DeepseekRouting, AFactorysRouterIsTheReferences) {
  constexpr std::int64_t kT = 21;
  const auto registry = registry_of(switch_routing::append_versions);
  for (const bool biased : {true, false}) {
    const DeepseekRouting v3{.experts = 256,
                             .top_k = 8,
                             .groups = 8,
                             .top_groups = 4,
                             .normalize = biased,
                             .scaling = 2.5};
    const std::vector<float> bias = biased ? negative_biases(256, 4) : std::vector<float>();
    const std::vector<float> z = testing::normal(kT * 256, 5);
    const View<const float, 2> logits(z, {kT, 256});
    const RoutingPlan want =
        make_deepseek_router(ReferenceLinearFactory(), v3, bias)->route(logits);
    for (const Device& device : {cpu_device(), simt_device()}) {
      const auto router = make_deepseek_router(VersionLinearFactory(registry, device), v3, bias);
      ThreadPool threads(2);
      Exec exec(device, DType::kF32, threads, router->workspace(kT));
      std::vector<int> ids(want.ids.size());
      std::vector<float> weights(ids.size());
      router->choose(exec, logits, View<int, 2>(ids, {kT, 8}), View<float, 2>(weights, {kT, 8}));
      EXPECT_EQ(ids, want.ids) << name_of(device.backend);
      EXPECT_EQ(router->route(logits).ids, want.ids) << name_of(device.backend);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        EXPECT_NEAR(weights[i], want.weights[i], 1e-5) << name_of(device.backend);
      }
    }
  }
}

TEST(DeepseekRouting, AFactorysRouterNeedsTheScratchOfItsVersion) {
  const auto registry = std::make_shared<Registry>();
  registry->add("grouped_top_k",
                Version<switch_routing::GroupedTopKArgs>{
                    .name = "needy",
                    .backend = Backend::kCpu,
                    .dtypes = {DType::kF32},
                    .batch_invariant = true,
                    .workspace = [](const auto& a, const Device&) { return 24 * a.rows(); },
                    .run = [](Exec&, const auto&, const Prepared&) {}});
  const VersionLinearFactory factory(registry, cpu_device());
  EXPECT_EQ(make_deepseek_router(factory, {.experts = 4, .top_k = 2})->workspace(7), 24 * 7);
}

TEST(BiasUpdate, MovesByTheSignAlone) {
  std::vector<float> bias = {0, 0, 0, 1};
  update_bias({bias.data(), {4}}, {10, 2, 4, 0}, 0.25f);  // the mean is 4
  EXPECT_EQ(bias, (std::vector<float>{-0.25f, 0.25f, 0, 1.25f}));
  update_bias({bias.data(), {4}}, {5, 5, 5, 5}, 0.25f);
  EXPECT_EQ(bias, (std::vector<float>{-0.25f, 0.25f, 0, 1.25f}));
  update_bias({bias.data(), {4}}, {1, 1, 1, 0}, 0.25f);  // the mean is 3/4, not 0 or 1
  EXPECT_EQ(bias, (std::vector<float>{-0.5f, 0, -0.25f, 1.5f}));
  EXPECT_THROW(update_bias({bias.data(), {4}}, {1, 2}, 0.25f), Error);
  EXPECT_THROW(update_bias({bias.data(), {4}}, {-1, 0, 0, 0}, 0.25f), Error);
  EXPECT_THROW(update_bias({bias.data(), {4}}, {INT64_MAX / 2, 0, 0, 0}, 0.25f), Error);
}

}  // namespace
}  // namespace octavo
