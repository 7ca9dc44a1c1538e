#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "03_switch_deepseek_routing/losses.h"
#include "common/base/error.h"
#include "common/testing/random.h"

namespace octavo::switch_routing {
namespace {

constexpr double kAlpha = 0.01;

View<const float, 2> rows(const std::vector<float>& v, std::int64_t E) {
  return {v.data(), {static_cast<std::int64_t>(v.size()) / E, E}};
}

// T rows of probabilities (p, 1 - p).
std::vector<float> two_experts(int T, double p) {
  std::vector<float> logits;
  for (int t = 0; t < T; ++t) {
    logits.push_back(static_cast<float>(std::log(p / (1 - p))));
    logits.push_back(0);
  }
  return logits;
}

// Token t prefers experts t, t + 1, .. t + k - 1 (modulo E) by a little: every expert is chosen k
// times.
std::vector<float> balanced(int E, int k) {
  std::vector<float> logits(static_cast<std::size_t>(E * E));
  for (int t = 0; t < E; ++t) {
    for (int j = 0; j < k; ++j) logits[static_cast<std::size_t>(t * E + (t + j) % E)] = 0.1f;
  }
  return logits;
}

// All tokens on expert 0, with a probability of 1.
std::vector<float> collapsed(int T, int E) {
  std::vector<float> logits(static_cast<std::size_t>(T * E));
  for (int t = 0; t < T; ++t) logits[static_cast<std::size_t>(t * E)] = 100;
  return logits;
}

// The article's example: of 1000 tokens 600 go to one expert, whose mean probability is 0.55. The
// other of two has 0.4 and 0.45.
TEST(SwitchLoss, WorkedExample) {
  std::vector<float> logits = two_experts(600, 0.75);
  const std::vector<float> others = two_experts(400, 0.25);
  logits.insert(logits.end(), others.begin(), others.end());
  const RouterLoss loss = switch_loss(rows(logits, 2), kAlpha);
  EXPECT_NEAR(loss.f[0], 0.6, 1e-12);
  EXPECT_NEAR(loss.P[0], 0.55, 1e-6);
  EXPECT_NEAR(loss.loss, kAlpha * 2 * (0.6 * 0.55 + 0.4 * 0.45), 1e-9);
  // dL/dP_0 is alpha N f_0 = 0.012. A token's logit moves P_0 by p (1 - p) / 1000, and P_1 the
  // other way.
  EXPECT_NEAR(loss.gradient[0], kAlpha * 2 * (0.6 - 0.4) * 0.75 * 0.25 / 1000, 1e-12);
  EXPECT_NEAR(loss.gradient[1], -loss.gradient[0], 1e-12);
}

TEST(SwitchLoss, BalancedIsAlphaAndCollapsedIsAlphaN) {
  for (int E : {2, 8, 64}) {  // the factor N makes the first independent of N
    EXPECT_NEAR(switch_loss(rows(balanced(E, 1), E), kAlpha).loss, kAlpha, 1e-12);
    EXPECT_NEAR(switch_loss(rows(collapsed(5, E), E), kAlpha).loss, kAlpha * E, 1e-12);
    EXPECT_NEAR(gshard_loss(rows(balanced(E, 1), E), kAlpha).loss, kAlpha / E / E, 1e-12);
    EXPECT_NEAR(gshard_loss(rows(collapsed(5, E), E), kAlpha).loss, kAlpha / E, 1e-12);
  }
}

// The conventions in use, told apart by what an even load costs.
TEST(BalanceLoss, TheConstantOfAnEvenLoad) {
  constexpr int E = 16;
  for (int k : {1, 2, 8}) {
    const std::vector<float> logits = balanced(E, k);
    EXPECT_NEAR(balance_loss(rows(logits, E), k, kAlpha * E).loss, kAlpha * k, 1e-12);
    EXPECT_NEAR(balance_loss(rows(logits, E), k, kAlpha * E / k).loss, kAlpha, 1e-12);
    EXPECT_NEAR(sequence_loss(rows(logits, E), k, kAlpha, {E}).loss, kAlpha, 1e-12);
  }
}

TEST(BalanceLoss, TheFsAddUpToWhatIsCounted) {
  const std::vector<float> logits = testing::normal(50 * 6, 1);
  for (int k : {1, 2, 6}) {
    double sum = 0;
    for (double f : balance_loss(rows(logits, 6), k, 1).f) sum += f;
    EXPECT_NEAR(sum, k, 1e-12);
  }
}

TEST(ZLoss, IsTheSquareOfTheLogarithmOfTheSum) {
  const std::vector<float> logits = {0, 0, 0, 0, 1000, 0, 0, 0};
  EXPECT_NEAR(z_loss(rows(logits, 4), 1e-3).loss,
              1e-3 * (std::pow(std::log(4.0), 2) + 1000.0 * 1000.0) / 2, 1e-9);
}

TEST(SequenceLoss, IsTheMeanOverSequences) {
  const std::vector<float> all = testing::normal(20 * 5, 2);
  const std::vector<float> first(all.begin(), all.begin() + 7 * 5),
      second(all.begin() + 7 * 5, all.end());
  const RouterLoss both = sequence_loss(rows(all, 5), 2, kAlpha, {7, 13});
  const RouterLoss a = sequence_loss(rows(first, 5), 2, kAlpha, {7}),
                   b = sequence_loss(rows(second, 5), 2, kAlpha, {13});
  EXPECT_NEAR(both.loss, (a.loss + b.loss) / 2, 1e-15);
  EXPECT_NEAR(both.gradient[3], a.gradient[3] / 2, 1e-15);
  EXPECT_NEAR(both.gradient[7 * 5], b.gradient[0] / 2, 1e-15);
  for (std::size_t e = 0; e < 5; ++e) {
    EXPECT_NEAR(both.f[e], (a.f[e] + b.f[e]) / 2, 1e-15);
    EXPECT_NEAR(both.P[e], (a.P[e] + b.P[e]) / 2, 1e-15);
  }
  EXPECT_NE(sequence_loss(rows(all, 5), 2, kAlpha, {20}).loss, both.loss);
}

struct Named {
  const char* name;
  std::function<RouterLoss(View<const float, 2>)> loss;
};

class LossGradient : public ::testing::TestWithParam<Named> {};

// Central differences of the loss itself. Counts do not move with a step this small, which is what
// "f has no gradient" means.
TEST_P(LossGradient, IsTheSlopeOfTheLoss) {
  constexpr std::int64_t T = 12, E = 6;
  constexpr float h = 0x1p-10f;
  const std::vector<float> logits = testing::normal(T * E, 5, 1.5);
  const RouterLoss at = GetParam().loss(rows(logits, E));
  ASSERT_EQ(at.gradient.size(), logits.size());
  double largest = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    std::vector<float> up = logits, down = logits;
    up[i] += h;
    down[i] -= h;
    const double width = static_cast<double>(up[i]) - static_cast<double>(down[i]);
    const double slope =
        (GetParam().loss(rows(up, E)).loss - GetParam().loss(rows(down, E)).loss) / width;
    EXPECT_NEAR(at.gradient[i], slope, 1e-6) << i;
    largest = std::max(largest, std::abs(slope));
  }
  EXPECT_GT(largest, 1e-3);  // else the tolerance would say nothing
}

INSTANTIATE_TEST_SUITE_P(
    Losses, LossGradient,
    ::testing::Values(Named{"switch", [](View<const float, 2> z) { return switch_loss(z, 1); }},
                      Named{"gshard", [](View<const float, 2> z) { return gshard_loss(z, 36); }},
                      Named{"top3", [](View<const float, 2> z) { return balance_loss(z, 3, 6); }},
                      Named{"z", [](View<const float, 2> z) { return z_loss(z, 1); }},
                      Named{"sequence",
                            [](View<const float, 2> z) {
                              return sequence_loss(z, 2, 1, {5, 7});
                            }}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(RouterLosses, WhatDoesNotFitIsRefused) {
  const std::vector<float> z(6);
  EXPECT_THROW(switch_loss(View<const float, 2>(nullptr, {0, 3}), 1), Error);
  EXPECT_THROW(z_loss(View<const float, 2>(nullptr, {0, 3}), 1), Error);
  EXPECT_THROW(balance_loss(rows(z, 3), 0, 1), Error);
  EXPECT_THROW(balance_loss(rows(z, 3), 4, 1), Error);
  EXPECT_THROW(sequence_loss(rows(z, 3), 1, 1, {1}), Error);
  EXPECT_THROW(sequence_loss(rows(z, 3), 1, 1, {0, 2}), Error);
  EXPECT_THROW(sequence_loss(rows(z, 3), 1, 1, {}), Error);
  EXPECT_THROW(sequence_loss(rows(z, 3), 4, 1, {2}), Error);
}

}  // namespace
}  // namespace octavo::switch_routing
