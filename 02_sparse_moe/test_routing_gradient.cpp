#include "02_sparse_moe/routing_gradient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "common/base/error.h"
#include "common/testing/random.h"

namespace octavo {
namespace {

// A loss that is linear in the weights, sum of upstream * weight, as a function of the logits.
class RouterGradient : public ::testing::TestWithParam<std::tuple<std::int64_t, bool>> {
 protected:
  static constexpr std::int64_t T = 3, E = 5;

  RoutingPlan route(const std::vector<float>& z) const {
    return SoftmaxTopKRouter(E, std::get<0>(GetParam()), std::get<1>(GetParam()))
        .route(View<const float, 2>(z, {T, E}));
  }
  double loss(const std::vector<float>& z, const std::vector<double>& upstream) const {
    const RoutingPlan plan = route(z);
    double sum = 0;
    for (std::size_t s = 0; s < upstream.size(); ++s) {
      sum += upstream[s] * static_cast<double>(plan.weights[s]);
    }
    return sum;
  }
};

TEST_P(RouterGradient, IsTheFiniteDifference) {
  const auto [k, normalized] = GetParam();
  const std::vector<float> z = testing::normal(T * E, 21), draws = testing::normal(T * k, 22);
  const std::vector<double> upstream(draws.begin(), draws.end());
  const std::vector<double> gradient =
      router_gradient(route(z), View<const float, 2>(z, {T, E}),
                      View<const double, 2>(upstream, {T, k}), normalized);
  double largest = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    constexpr float kStep = 1.0f / 256;
    std::vector<float> up = z, down = z;
    up[i] += kStep;
    down[i] -= kStep;
    const double slope = (loss(up, upstream) - loss(down, upstream)) /
                         (static_cast<double>(up[i]) - static_cast<double>(down[i]));
    EXPECT_NEAR(gradient[i], slope, 1e-4) << i;
    largest = std::max(largest, std::abs(gradient[i]));
  }
  // One renormalised weight is 1 whatever the gate says, and the gate learns nothing from it.
  if (k == 1 && normalized) {
    EXPECT_EQ(largest, 0);
  } else {
    EXPECT_GT(largest, 0.01);
  }
}

// The gate sees differences of logits, and so does its gradient.
TEST_P(RouterGradient, DoesNotMindWhereTheLogitsLie) {
  const std::int64_t k = std::get<0>(GetParam());
  const std::vector<float> draws = testing::normal(T * k, 22);
  const std::vector<double> upstream(draws.begin(), draws.end());
  const auto gradient = [&](float shift) {
    std::vector<float> z;
    for (int i = 0; i < T * E; ++i) z.push_back(shift + static_cast<float>(i * 7 % 5));
    return router_gradient(route(z), View<const float, 2>(z, {T, E}),
                           View<const double, 2>(upstream, {T, k}), std::get<1>(GetParam()));
  };
  EXPECT_EQ(gradient(-1024), gradient(0));
  EXPECT_EQ(gradient(1024), gradient(0));
}

TEST(Gradient, WhatDoesNotFitIsRefused) {
  const std::vector<float> z = testing::normal(6, 1);
  const std::vector<double> upstream(6);
  const RoutingPlan plan = SoftmaxTopKRouter(3, 2, true).route(View<const float, 2>(z, {2, 3}));
  const auto gradient = [&](std::int64_t T, std::int64_t E, std::int64_t k) {
    return router_gradient(plan, {z.data(), {T, E}}, {upstream.data(), {2, k}}, true);
  };
  EXPECT_EQ(gradient(2, 3, 2).size(), 6u);
  EXPECT_THROW(gradient(1, 3, 2), Error);
  EXPECT_THROW(gradient(2, 2, 2), Error);
  EXPECT_THROW(gradient(2, 3, 1), Error);
}

INSTANTIATE_TEST_SUITE_P(Choices, RouterGradient,
                         ::testing::Combine(::testing::Values(1, 2, 5), ::testing::Bool()),
                         [](const auto& test) {
                           return "k" + std::to_string(std::get<0>(test.param)) +
                                  (std::get<1>(test.param) ? "_normalized" : "_raw");
                         });

// A dropped choice has no weight: what is left is a router of the others.
TEST(RouterGradients, ASlotWithoutAnExpertCountsForNothing) {
  const std::vector<float> z = {0.3f, -0.2f, 1.1f};
  const RoutingPlan plan{
      .tokens = 1, .experts = 3, .top_k = 2, .ids = {2, -1}, .weights = {0.6f, 0}};
  const RoutingPlan alone{.tokens = 1, .experts = 3, .top_k = 1, .ids = {2}, .weights = {0.6f}};
  const std::vector<double> two = {0.7, 5.0}, one = {0.7};
  for (const bool normalized : {false, true}) {
    EXPECT_EQ(router_gradient(plan, View<const float, 2>(z, {1, 3}),
                              View<const double, 2>(two, {1, 2}), normalized),
              router_gradient(alone, View<const float, 2>(z, {1, 3}),
                              View<const double, 2>(one, {1, 1}), normalized));
  }
}

TEST(RouterGradients, APlanThatIsNoneIsRefused) {
  const std::vector<float> z(3);
  const std::vector<double> upstream(2);
  for (const std::vector<int>& ids : std::vector<std::vector<int>>{{0, 3}, {0, -2}, {0}}) {
    const RoutingPlan plan{.tokens = 1, .experts = 3, .top_k = 2, .ids = ids};
    EXPECT_THROW(router_gradient(plan, View<const float, 2>(z, {1, 3}),
                                 View<const double, 2>(upstream, {1, 2}), true),
                 Error);
  }
}

}  // namespace
}  // namespace octavo
