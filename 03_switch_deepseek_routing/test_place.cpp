// Places under a capacity, and what is dropped.

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

}  // namespace
}  // namespace octavo::switch_routing
