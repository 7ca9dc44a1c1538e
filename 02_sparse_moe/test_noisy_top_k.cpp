#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "02_sparse_moe/noisy_top_k.h"
#include "common/base/error.h"
#include "common/testing/random.h"

namespace octavo {
namespace {

struct Inputs {
  std::int64_t T, E;
  std::vector<float> clean, spread, normal;

  Inputs(std::int64_t tokens, std::int64_t experts)
      : T(tokens),
        E(experts),
        clean(testing::normal(T * E, 1)),
        spread(testing::normal(T * E, 2)),
        normal(testing::normal(T * E, 3)) {}
  NoisyLogits logits() const {
    return {View<const float, 2>(clean, {T, E}), View<const float, 2>(spread, {T, E}),
            View<const float, 2>(normal, {T, E})};
  }
};

TEST(NoisyTopK, SoftplusAtItsEdges) {
  EXPECT_NEAR(softplus(0), std::numbers::ln2, 1e-15);
  EXPECT_NEAR(softplus(-40), std::exp(-40.0), 1e-30);
  EXPECT_EQ(softplus(-1e6), 0);
  EXPECT_EQ(softplus(1e6), 1e6);
}

TEST(NoisyTopK, CoefficientOfVariationIsThePopulations) {
  EXPECT_NEAR(cv_squared(std::vector<double>{1, 1, 1, 1}), 0, 1e-9);
  EXPECT_NEAR(cv_squared(std::vector<double>{4, 0, 0, 0}), 3, 1e-9);  // of the sample: 4
  EXPECT_EQ(cv_squared(std::vector<double>{0, 0, 0}), 0);
}

// The noise moves the choice, and the weights are a softmax of the noisy logits that were kept.
TEST(NoisyTopK, HandComputed) {
  // softplus(s) = 1 and 2 for these.
  const float one = std::log(std::exp(1.0f) - 1), two = std::log(std::exp(2.0f) - 1);
  const std::vector<float> clean = {1, 0, 0.5f}, spread = {one, two, one}, normal = {-2, 1, 0.5f};
  const NoisyGates gates =
      noisy_top_k({View<const float, 2>(clean, {1, 3}), View<const float, 2>(spread, {1, 3}),
                   View<const float, 2>(normal, {1, 3})},
                  2);
  EXPECT_EQ(gates.plan.ids, (std::vector<int>{1, 2}));  // of -1, 2, 1
  EXPECT_NEAR(gates.plan.weights[0], 1 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_EQ(gates.importance[0], 0);
  // Expert 0 must beat 1, the second of its rivals; expert 1 must beat 1, the third of all -1.
  EXPECT_NEAR(gates.load[0], 0.5, 1e-6);
  EXPECT_NEAR(gates.load[1], std::erfc(-0.5 / std::numbers::sqrt2) / 2, 1e-6);
  const NoisyGates quiet = noiseless_top_k(View<const float, 2>(clean, {1, 3}), 2);
  EXPECT_EQ(quiet.plan.ids, (std::vector<int>{0, 2}));
  EXPECT_EQ(quiet.load, (std::vector<double>{1, 0, 1}));
}

class NoisyTopKOf : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(NoisyTopKOf, ExactlyKGatesAreNotZeroAndTheyAddUpToOne) {
  const std::int64_t k = GetParam();
  const Inputs in(40, 6);
  for (const NoisyGates& gates :
       {noisy_top_k(in.logits(), k), noiseless_top_k(in.logits().clean, k)}) {
    EXPECT_EQ(gates.plan.offsets.back(), 40 * k);
    for (std::int64_t t = 0; t < 40; ++t) {
      double sum = 0;
      for (std::int64_t j = 0; j < k; ++j) {
        EXPECT_GT(gates.plan.weight()(t, j), 0);
        sum += static_cast<double>(gates.plan.weight()(t, j));
      }
      EXPECT_NEAR(sum, 1, 1e-6);
    }
    EXPECT_NEAR(std::accumulate(gates.importance.begin(), gates.importance.end(), 0.0), 40, 1e-4);
  }
}

// Redraws the noise of one expert and counts how often it is chosen.
TEST_P(NoisyTopKOf, LoadIsTheProbabilityOverTheOwnNoise) {
  const std::int64_t k = GetParam();
  const Inputs in(1, 6);
  const NoisyGates gates = noisy_top_k(in.logits(), k);
  constexpr int kDraws = 20000;
  const std::vector<float> draws = testing::normal(kDraws, 9);
  for (std::size_t e = 0; e < 6; ++e) {
    Inputs again = in;
    int chosen = 0;
    for (float draw : draws) {
      again.normal[e] = draw;
      const std::vector<int> ids = noisy_top_k(again.logits(), k).plan.ids;
      chosen += static_cast<int>(std::ranges::count(ids, static_cast<int>(e)));
    }
    const double p = gates.load[e], deviation = std::sqrt(p * (1 - p) / kDraws);
    EXPECT_NEAR(static_cast<double>(chosen) / kDraws, p, 3 * deviation + 1e-9) << "expert " << e;
  }
}

INSTANTIATE_TEST_SUITE_P(Choices, NoisyTopKOf, ::testing::Values(1, 2, 5, 6));

// Both matrices of the gate start at zero: all spreads are then ln 2 and the experts are chosen
// evenly, by the draws alone.
TEST(NoisyTopK, AnUntrainedGateIsBalancedByItsNoise) {
  Inputs in(4000, 8);
  in.clean.assign(in.clean.size(), 0);
  in.spread.assign(in.spread.size(), 0);
  const NoisyGates noisy = noisy_top_k(in.logits(), 2);
  EXPECT_LT(cv_squared(noisy.importance), 0.01);
  EXPECT_LT(cv_squared(noisy.load), 0.01);
  EXPECT_EQ(noiseless_top_k(in.logits().clean, 2).plan.counts(),
            (std::vector<std::int64_t>{4000, 4000, 0, 0, 0, 0, 0, 0}));
}

TEST(NoisyTopK, WithoutNoiseTheLoadIsTheCount) {
  Inputs in(30, 5);
  in.spread.assign(in.spread.size(), -1e4f);
  const NoisyGates gates = noisy_top_k(in.logits(), 2);
  const std::vector<std::int64_t> counts = noiseless_top_k(in.logits().clean, 2).plan.counts();
  EXPECT_EQ(gates.load, std::vector<double>(counts.begin(), counts.end()));
}

// Two experts tie for one place and have no noise: no draw changes who has it.
TEST(NoisyTopK, WithoutNoiseATieIsNoQuestion) {
  const std::vector<float> clean = {1, 1, 0}, spread(3, -1e4f), normal = {1, 2, 3};
  const NoisyGates gates =
      noisy_top_k({View<const float, 2>(clean, {1, 3}), View<const float, 2>(spread, {1, 3}),
                   View<const float, 2>(normal, {1, 3})},
                  1);
  EXPECT_EQ(gates.plan.ids, (std::vector<int>{0}));
  EXPECT_EQ(gates.load, (std::vector<double>{1, 0, 0}));
}

// A softmax is of differences: it neither overflows nor divides nought by nought.
TEST(NoisyTopK, LogitsFarFromNoughtHaveTheSameGates) {
  for (const float shift : {-1024.0f, 1024.0f}) {
    const std::vector<float> z = {shift + 1, shift, shift - 1};
    const NoisyGates gates = noiseless_top_k(View<const float, 2>(z, {1, 3}), 2);
    EXPECT_EQ(gates.plan.ids, (std::vector<int>{0, 1}));
    EXPECT_NEAR(gates.plan.weights[0], 1 / (1 + std::exp(-1.0)), 1e-6) << shift;
  }
}

// A row whose noisy logits have no softmax: k distinct ids, the lowest, NaN for what they weigh,
// and no other row is harmed. The sums over the batch show it.
TEST(NoisyTopK, ARowWithoutASoftmaxShowsItself) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Inputs good(3, 4);
  const NoisyGates whole = noisy_top_k(good.logits(), 2);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInf}) {
    for (std::vector<float> Inputs::*where : {&Inputs::clean, &Inputs::spread, &Inputs::normal}) {
      Inputs in = good;
      (in.*where)[4 + 2] = bad;
      in.normal[4 + 2] = std::isnan(in.normal[4 + 2]) ? bad : std::abs(in.normal[4 + 2]);
      const NoisyGates gates = noisy_top_k(in.logits(), 2);
      EXPECT_EQ(gates.plan.ids[2], 0);
      EXPECT_EQ(gates.plan.ids[3], 1);
      EXPECT_TRUE(std::isnan(gates.plan.weights[2]) && std::isnan(gates.plan.weights[3]));
      EXPECT_TRUE(std::isnan(gates.importance[0]) && std::isnan(gates.load[3]));
      for (const auto slot : {std::size_t{0}, std::size_t{1}, std::size_t{4}, std::size_t{5}}) {
        EXPECT_EQ(gates.plan.ids[slot], whole.plan.ids[slot]);
        EXPECT_EQ(gates.plan.weights[slot], whole.plan.weights[slot]);
      }
    }
  }
  const std::vector<float> nothing(4, -kInf);
  const NoisyGates none = noiseless_top_k(View<const float, 2>(nothing, {1, 4}), 2);
  EXPECT_EQ(none.plan.ids, (std::vector<int>{0, 1}));
  EXPECT_TRUE(std::isnan(none.plan.weights[0]));
}

// A clean logit of -inf is no expert's to choose, and no draw changes that.
TEST(NoisyTopK, AnExpertThatCannotBeChosenHasTheLoadOfItsChoice) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Inputs in(1, 3);
  in.clean = {0, -kInf, -kInf};
  const NoisyGates two = noisy_top_k(in.logits(), 2);
  EXPECT_EQ(two.plan.ids, (std::vector<int>{0, 1}));
  EXPECT_EQ(two.plan.weights, (std::vector<float>{1, 0}));
  EXPECT_EQ(two.load, (std::vector<double>{1, 1, 0}));
}

TEST(NoisyTopK, NoSpreadAndTheSmallestSpread) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float spread : {-kInf, -1e4f, -740.0f}) {  // softplus: 0, 0, and the smallest number
    Inputs in(1, 3);
    in.clean = {1, 1, 1};
    in.spread.assign(3, spread);
    const NoisyGates gates = noisy_top_k(in.logits(), 1);
    for (double load : gates.load) EXPECT_TRUE(load >= 0 && load <= 1) << spread << " " << load;
  }
}

TEST(NoisyTopK, WhatDoesNotFitIsRefused) {
  const Inputs in(2, 3), other(2, 4);
  EXPECT_THROW(noisy_top_k({in.logits().clean, in.logits().spread, other.logits().normal}, 1),
               Error);
  EXPECT_THROW(noisy_top_k(in.logits(), 4), Error);
  EXPECT_THROW(noisy_top_k(in.logits(), 0), Error);
  EXPECT_THROW(noisy_top_k({in.logits().clean, other.logits().spread, in.logits().normal}, 1),
               Error);
}

}  // namespace
}  // namespace octavo
