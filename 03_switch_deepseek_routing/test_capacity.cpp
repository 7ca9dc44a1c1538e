#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "03_switch_deepseek_routing/capacity.h"
#include "common/base/error.h"

namespace octavo::switch_routing {
namespace {

using Ids = std::vector<int>;
using Weights = std::vector<float>;

View<const float, 2> rows(const std::vector<float>& v, std::int64_t E) {
  return {v.data(), {static_cast<std::int64_t>(v.size()) / E, E}};
}

// Logits of a row whose probabilities are p.
std::vector<float> logits_of(const std::vector<double>& p) {
  std::vector<float> z;
  for (double value : p) z.push_back(static_cast<float>(std::log(value)));
  return z;
}

TEST(Capacity, IsTheCeilingOfAnExactFraction) {
  EXPECT_EQ(capacity({5, 4}, 10, 4, 1), 4);  // 3.125: the article's C = ceil(T/N) x factor is 3.75
  EXPECT_EQ(capacity(capacity_factor("1.1"), 10, 1, 1), 10);  // 11, but there are 10 tokens
  EXPECT_EQ(std::ceil(1.1 * 110), 122);                       // what doubles make of it
  EXPECT_EQ(capacity(capacity_factor("1.1"), 220, 2, 1), 121);
  EXPECT_EQ(capacity(capacity_factor("1.25"), 1024, 64, 2), 40);
  EXPECT_EQ(capacity({1, 1}, 4, 64, 1), 1);  // an expert takes at least one
  EXPECT_EQ(capacity({8, 1}, 3, 2, 2), 3);   // and never more than there are
  EXPECT_EQ(capacity({1, 1}, 0, 8, 2), 0);
  EXPECT_EQ(capacity(capacity_factor("2"), 1'000'000, 1000, 8), 16000);
}

TEST(Capacity, OnlyDecimalNumbersAreFactors) {
  EXPECT_EQ(capacity_factor("1.25").numerator, 125);
  EXPECT_EQ(capacity_factor("1.25").denominator, 100);
  EXPECT_EQ(capacity_factor("190.325").numerator, 190325);  // six digits, and any of the ten
  EXPECT_EQ(capacity_factor("190.325").denominator, 1000);
  for (const char* bad : {"", "0", "0.0", "-1", "1e3", "1.2.3", "1,5", "1234567", "."}) {
    EXPECT_THROW(capacity_factor(bad), Error) << bad;
  }
  EXPECT_THROW(capacity({0, 1}, 8, 4, 1), Error);
  EXPECT_THROW(capacity({1, 1}, 8, 0, 1), Error);
  EXPECT_THROW(capacity({1, 64}, 8, std::int64_t{1} << 58, 1), Error);  // 64 E wraps to 0
  EXPECT_EQ(capacity({1'000'000, 1'000'000}, 1'000'000'000, 1'000'000'000, 1), 1);
}

// Beyond these limits a product would not be exact any more.
TEST(Capacity, NumbersThatMeanNothingAreRefused) {
  constexpr std::int64_t kMillion = 1'000'000, kLarge = 10'000'000 * kMillion;
  EXPECT_EQ(capacity({kMillion, 1}, 1000 * kMillion, 1, 1), 1000 * kMillion);
  EXPECT_EQ(capacity({1, kMillion}, 1000 * kMillion, 1, 1), 1000);
  for (const CapacityFactor bad : {CapacityFactor{kMillion + 1, 1}, {1, kMillion + 1}, {1, 0}}) {
    EXPECT_THROW(capacity(bad, 8, 4, 1), Error);
  }
  EXPECT_THROW(capacity({1, 1}, -1, 4, 1), Error);
  EXPECT_THROW(capacity({1, 1}, 8, 4, 0), Error);
  EXPECT_THROW(capacity({kMillion, 1}, kLarge, 4, 1), Error);
}

TEST(SwitchTop1, TheWeightIsTheProbability) {
  std::vector<float> logits = logits_of({0.2, 0.7, 0.1});
  const std::vector<float> second = logits_of({0.4, 0.4, 0.2});
  logits.insert(logits.end(), second.begin(), second.end());
  const Choices c = switch_top1(rows(logits, 3));
  EXPECT_EQ(c.ids, (Ids{1, 0}));  // a tie goes to the lower expert
  EXPECT_NEAR(c.weights[0], 0.7, 1e-6);
  EXPECT_NEAR(c.weights[1], 0.4, 1e-6);
  EXPECT_THROW(switch_top1(View<const float, 2>(nullptr, {2, 0})), Error);
}

// The task's loss reaches the router only through that weight: with a renormalised one it would
// not, for any logits. The loss here is the output itself, of an expert that gives 3.
TEST(SwitchTop1, TheRouterGetsAGradientFromTheTask) {
  const auto output = [](float z0, bool renormalise) {
    const std::vector<float> logits = {z0, 0.25f, -0.5f};
    Choices c = switch_top1(rows(logits, 3));
    if (renormalise) c.weights[0] /= c.weights[0];
    return 3.0 * static_cast<double>(c.weights[0]);
  };
  const double h = 0.0625, p = output(0.5f, false) / 3;
  const auto slope = [&](bool r) { return (output(0.5625f, r) - output(0.4375f, r)) / (2 * h); };
  EXPECT_NEAR(slope(false), 3 * p * (1 - p), 1e-3);
  EXPECT_EQ(slope(true), 0);
}

TEST(GshardTop2, WeightsAreOverTheTwoAndTheSecondIsDrawn) {
  std::vector<float> logits;
  for (int t = 0; t < 4; ++t) {
    for (float z : logits_of({0.1, 0.6, 0.2, 0.1})) logits.push_back(z);
  }
  const std::vector<float> u = {0.0f, 0.49f, 0.51f, 0.99f};  // 2 g2 = 0.5
  const Choices c = gshard_top2(rows(logits, 4), View<const float, 1>(u, {4}));
  EXPECT_EQ(c.ids, (Ids{1, 2, 1, 2, 1, -1, 1, -1}));
  for (std::size_t t = 0; t < 4; ++t) {
    EXPECT_NEAR(c.weights[2 * t], 0.75, 1e-6);
    EXPECT_NEAR(c.weights[2 * t + 1], t < 2 ? 0.25 : 0, 1e-6);
  }
  EXPECT_THROW(gshard_top2(rows(logits, 4), View<const float, 1>(u.data(), {3})), Error);
  EXPECT_THROW(gshard_top2(rows(u, 1), View<const float, 1>(u, {4})), Error);
}

// u < 2 g2 holds for no u, not even 0.
TEST(GshardTop2, ASecondExpertWorthNothingIsNeverDrawn) {
  const std::vector<float> logits = {0, -std::numeric_limits<float>::infinity()}, u = {0};
  const Choices c = gshard_top2(rows(logits, 2), View<const float, 1>(u, {1}));
  EXPECT_EQ(c.ids, (Ids{0, -1}));
  EXPECT_EQ(c.weights, (Weights{1, 0}));
}

TEST(Placement, OfThePublishedModels) {
  const auto sparse = [](Placement p, std::int64_t blocks) {
    std::int64_t n = 0;
    for (std::int64_t b = 0; b < blocks; ++b) n += is_sparse(p, b) ? 1 : 0;
    return n;
  };
  EXPECT_EQ(sparse({0, 2}, 12), 6);  // Switch, every other
  EXPECT_FALSE(is_sparse({0, 2}, 0));
  EXPECT_TRUE(is_sparse({0, 2}, 1));
  EXPECT_EQ(sparse({0, 1}, 32), 32);  // Mixtral
  EXPECT_EQ(sparse({3, 1}, 61), 58);  // DeepSeek-V3
  EXPECT_TRUE(is_sparse({1, 2}, 1));  // the period counts from the first block of all
  EXPECT_THROW(is_sparse({0, 0}, 0), Error);
  EXPECT_THROW(is_sparse({-1, 1}, 0), Error);
  EXPECT_THROW(is_sparse({0, 1}, -1), Error);
  EXPECT_THROW(is_sparse({0, 1}, INT64_MAX), Error);  // whose number + 1 there is not
}

}  // namespace
}  // namespace octavo::switch_routing
