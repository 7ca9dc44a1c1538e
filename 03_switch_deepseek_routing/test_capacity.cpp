#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "02_sparse_moe/moe.h"
#include "03_switch_deepseek_routing/capacity.h"
#include "03_switch_deepseek_routing/capacity_dispatch.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/testing/random.h"

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

// Three tokens, room for one each: token 2's first choice goes before token 0's second.
const Choices kThree = {.tokens = 3,
                        .experts = 3,
                        .top_k = 2,
                        .ids = {0, 1, 0, 2, 1, 2},
                        .weights = {0.6f, 0.4f, 0.7f, 0.3f, 0.8f, 0.2f}};

TEST(Place, EveryFirstChoiceBeforeAnySecond) {
  const CapacityPlan plan = place(kThree, 1, DropPolicy::kPosition, AfterDrop::kKeep);
  EXPECT_EQ(plan.ids, (Ids{0, -1, -1, 2, 1, -1}));
  EXPECT_EQ(plan.place, (Ids{0, -1, -1, 0, 0, -1}));
  EXPECT_EQ(plan.weights, (Weights{0.6f, 0, 0, 0.3f, 0.8f, 0}));
  EXPECT_EQ(plan.load, (std::vector<std::int64_t>{2, 2, 2}));
  EXPECT_EQ(plan.dropped, 3);
}

TEST(Place, TheLargestWeightsStayUnderTheOtherPolicy) {
  const CapacityPlan plan = place(kThree, 1, DropPolicy::kProbability, AfterDrop::kKeep);
  EXPECT_EQ(plan.ids, (Ids{-1, -1, 0, 2, 1, -1}));
  Choices equal = kThree;
  std::fill(equal.weights.begin(), equal.weights.end(), 0.5f);
  const CapacityPlan ties = place(equal, 1, DropPolicy::kProbability, AfterDrop::kKeep);
  EXPECT_EQ(ties.ids, place(equal, 1, DropPolicy::kPosition, AfterDrop::kKeep).ids);
  const Choices one = {
      .tokens = 3, .experts = 1, .top_k = 1, .ids = {0, 0, 0}, .weights = {0.4f, 0.2f, 0.5f}};
  EXPECT_EQ(place(one, 2, DropPolicy::kProbability, AfterDrop::kKeep).place,
            (Ids{0, -1, 1}));  // weights say who stays, and not where
}

TEST(Place, WhatRemainsOfAWeightIsAPolicy) {
  const CapacityPlan plan = place(kThree, 1, DropPolicy::kPosition, AfterDrop::kRenormalize);
  EXPECT_EQ(plan.weights, (Weights{1, 0, 0, 1, 1, 0}));  // a lone survivor speaks for both
  const CapacityPlan whole = place(kThree, 3, DropPolicy::kPosition, AfterDrop::kRenormalize);
  EXPECT_EQ(whole.dropped, 0);
  EXPECT_EQ(whole.weights, kThree.weights);
}

TEST(Place, ATokenThatLostAllItsExpertsHasNoWeightToShareOut) {
  const CapacityPlan none = place(kThree, 0, DropPolicy::kPosition, AfterDrop::kRenormalize);
  EXPECT_EQ(none.weights, Weights(6, 0));
}

// A row without a softmax is dispatched, whatever was drawn: its output is NaN and shows itself.
// Where the largest weights stay, NaN is the smallest.
TEST(Place, ANanIsDispatchedAndGivesWay) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits = {kNan, 0, 0}, drawn = {0.99f};
  const Choices c = gshard_top2(rows(logits, 3), View<const float, 1>(drawn, {1}));
  EXPECT_EQ(c.ids, (Ids{0, 1}));
  EXPECT_TRUE(std::isnan(c.weights[0]) && std::isnan(c.weights[1]));
  const Choices two = {
      .tokens = 3, .experts = 1, .top_k = 1, .ids = {0, 0, 0}, .weights = {kNan, 0.1f, 0.2f}};
  EXPECT_EQ(place(two, 2, DropPolicy::kProbability, AfterDrop::kKeep).ids, (Ids{-1, 0, 0}));
}

TEST(Place, FiveTokensForOneExpert) {
  const std::vector<float> logits = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
  const Choices c = switch_top1(rows(logits, 4));
  const CapacityPlan plan =
      place(c, capacity({1, 1}, 5, 4, 1), DropPolicy::kPosition, AfterDrop::kKeep);
  EXPECT_EQ(plan.capacity, 2);
  EXPECT_EQ(plan.ids, (Ids{0, 0, -1, -1, -1}));
  EXPECT_EQ(plan.load[0], 5);  // what a loss counts: the demand, not what was let in
  EXPECT_EQ(plan.dropped, 3);
}

TEST(Place, ChoicesThatMakeNoSenseAreRefused) {
  const auto placed = [](auto spoil) {
    Choices c = kThree;
    spoil(c);
    return [c] { return place(c, 1, DropPolicy::kPosition, AfterDrop::kKeep); };
  };
  EXPECT_NO_THROW(placed([](Choices&) {})());
  EXPECT_THROW(placed([](Choices& c) { c.ids.pop_back(); })(), Error);
  EXPECT_THROW(placed([](Choices& c) { c.weights.push_back(1); })(), Error);
  EXPECT_THROW(placed([](Choices& c) { c.tokens = 4; })(), Error);
  EXPECT_THROW(placed([](Choices& c) { c.tokens = c.top_k = std::int64_t{1} << 32; })(), Error);
  EXPECT_THROW(placed([](Choices& c) { c.experts = -1; })(), Error);
  EXPECT_THROW(placed([](Choices& c) { c.experts = std::int64_t{1} << 31; })(), Error);
  EXPECT_THROW(placed([](Choices& c) { c.ids[2] = 3; })(), Error);  // of 3 experts
  EXPECT_THROW(placed([](Choices& c) { c.ids[2] = -2; })(), Error);
  EXPECT_THROW(placed([](Choices& c) { c.ids[3] = c.ids[2]; })(), Error);  // twice in a token
  EXPECT_THROW(place(kThree, -1, DropPolicy::kPosition, AfterDrop::kKeep), Error);
  EXPECT_EQ(place(kThree, INT64_MAX, DropPolicy::kPosition, AfterDrop::kKeep).dropped, 0);
  EXPECT_EQ(place({}, 1, DropPolicy::kPosition, AfterDrop::kKeep).dropped, 0);
}

// The topic's reference, which stands apart, says the same.
TEST(Place, AgreesWithTheTopic) {
  std::vector<int> place_of(6), load(3);
  std::vector<float> kept(6);
  for (const std::int64_t C : {0, 1, 2}) {
    capacity_dispatch_reference({.ids = {kThree.ids.data(), {3, 2}},
                                 .weights = {kThree.weights.data(), {3, 2}},
                                 .capacity = C,
                                 .place = {place_of.data(), {3, 2}},
                                 .kept = {kept.data(), {3, 2}},
                                 .load = {load.data(), {3}}});
    const CapacityPlan plan = place(kThree, C, DropPolicy::kPosition, AfterDrop::kKeep);
    EXPECT_EQ(place_of, plan.place);
    EXPECT_EQ(kept, plan.weights);
    EXPECT_EQ(std::vector<std::int64_t>(load.begin(), load.end()), plan.load);
  }
}

class PlaceOfSize : public ::testing::TestWithParam<std::pair<std::int64_t, std::int64_t>> {};

// At most C rows an expert, places 0 .. n - 1 each once, and a choice is dropped only by a full
// expert.
TEST_P(PlaceOfSize, FillsExpertsInOrder) {
  const auto [T, E] = GetParam();
  const std::vector<float> logits = testing::normal(T * E, 3, 2.0);
  std::vector<float> u = testing::normal(T, 4);
  for (float& x : u) x = std::min(std::abs(x) / 2, 0.99f);
  const Choices c = gshard_top2(rows(logits, E), View<const float, 1>(u, {T}));
  for (DropPolicy policy : {DropPolicy::kPosition, DropPolicy::kProbability}) {
    for (std::int64_t C : {std::int64_t{0}, std::int64_t{1}, capacity({5, 4}, T, E, 2), T}) {
      const CapacityPlan plan = place(c, C, policy, AfterDrop::kKeep);
      std::int64_t kept = 0;
      for (int e = 0; e < E; ++e) {
        Ids places;
        for (std::size_t s = 0; s < plan.ids.size(); ++s) {
          if (plan.ids[s] == e) places.push_back(plan.place[s]);
        }
        std::ranges::sort(places);
        Ids ascending(places.size());
        std::iota(ascending.begin(), ascending.end(), 0);
        EXPECT_EQ(places, ascending);
        EXPECT_EQ(std::ssize(places), std::min(C, plan.load[static_cast<std::size_t>(e)]));
        kept += std::ssize(places);
      }
      EXPECT_EQ(kept + plan.dropped, std::ranges::count_if(c.ids, [](int id) { return id >= 0; }));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, PlaceOfSize,
                         ::testing::Values(std::pair{1, 2}, std::pair{7, 3}, std::pair{64, 8},
                                           std::pair{65, 60}, std::pair{300, 5}));

// Expert e gives e + 1 in every column.
class ConstantExperts : public LoopedExperts {
 public:
  explicit ConstantExperts(std::int64_t experts) : experts_(experts) {}
  std::int64_t experts() const override { return experts_; }

 protected:
  std::int64_t expert_workspace(std::int64_t) const override { return 0; }
  void forward_expert(Exec&, std::int64_t e, View<const float, 2>,
                      View<float, 2> y) const override {
    std::fill_n(y.data(), y.size(), static_cast<float>(e + 1));
  }

 private:
  std::int64_t experts_;
};

// The layer gives 0 and not p times anything; the block's residual then passes the token on as it
// was.
TEST(Place, ADroppedTokenPassesOnTheResidualAlone) {
  ThreadPool threads(1);
  Exec exec(cpu_device(), DType::kF32, threads, 0);
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  for (std::int64_t C : {0, 1}) {
    const CapacityPlan plan = place(kThree, C, DropPolicy::kPosition, AfterDrop::kKeep);
    std::vector<float> y(6, std::numeric_limits<float>::quiet_NaN());
    const RoutingPlan routes = routing_plan(plan);
    ConstantExperts(3).forward(exec, View<const float, 2>(x, {3, 2}), routes.id(), routes.weight(),
                               View<float, 2>(y, {3, 2}));
    const float first = C == 0 ? 0 : 0.6f, second = C == 0 ? 0 : 0.3f * 3,
                third = C == 0 ? 0 : 0.8f * 2;
    EXPECT_EQ(y, (Weights{first, first, second, second, third, third})) << C;
  }
}

// Why it stays in the laboratory: a token's result changes with its neighbours.
TEST(Place, ATokenDependsOnTheTokensBeforeIt) {
  const std::vector<float> crowd = {3, 0, 3, 0, 3, 0}, alone = {3, 0};
  const auto last = [](const std::vector<float>& logits) {
    const Choices c = switch_top1(rows(logits, 2));
    const std::int64_t C = capacity({1, 1}, c.tokens, 2, 1);
    return place(c, C, DropPolicy::kPosition, AfterDrop::kKeep).ids.back();
  };
  EXPECT_EQ(last(alone), 0);
  EXPECT_EQ(last(crowd), -1);
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
