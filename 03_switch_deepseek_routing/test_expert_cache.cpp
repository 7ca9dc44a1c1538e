#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "03_switch_deepseek_routing/expert_cache.h"
#include "common/base/error.h"

namespace octavo::switch_routing {
namespace {

// One layer, one expert a step.
RoutingTrace single(const std::vector<int>& experts) {
  RoutingTrace trace{.layers = 1, .experts = 8};
  for (int e : experts) trace.uses.push_back({e});
  return trace;
}

std::int64_t hits(const RoutingTrace& trace, CachePolicy policy, std::int64_t slots) {
  return replay(trace, {.policy = policy, .slots = slots}).hits;
}

TEST(ExpertCache, PoliciesByHand) {
  const RoutingTrace trace = single({0, 1, 0, 2, 1, 0, 2, 0});
  EXPECT_EQ(hits(trace, CachePolicy::kLru, 2), 2);  // 0 at step 2 and 0 at the end
  EXPECT_EQ(hits(trace, CachePolicy::kLfu, 2), 3);  // 0 never leaves
  EXPECT_EQ(hits(trace, CachePolicy::kOracle, 2), 4);
  for (auto policy : {CachePolicy::kLru, CachePolicy::kLfu, CachePolicy::kOracle}) {
    EXPECT_EQ(hits(trace, policy, 3), 5);  // all but the first uses
  }
  // As often used as each other: 1, not used for longer, makes room for 2.
  EXPECT_EQ(hits(single({1, 0, 1, 0, 2, 0}), CachePolicy::kLfu, 2), 3);
}

TEST(ExpertCache, LayersDoNotKnowOfEachOther) {
  const TraceShape shape{.steps = 40, .layers = 1, .experts = 5, .top_k = 1};
  TraceShape other = shape;
  other.seed = 2;
  const RoutingTrace a = synthetic_trace(shape), b = synthetic_trace(other);
  RoutingTrace both{.layers = 2, .experts = 5};
  for (std::size_t i = 0; i < a.uses.size(); ++i) {
    both.uses.push_back(a.uses[i]);
    both.uses.push_back(b.uses[i]);
  }
  for (auto policy : {CachePolicy::kLru, CachePolicy::kLfu, CachePolicy::kOracle}) {
    EXPECT_EQ(hits(both, policy, 3), hits(a, policy, 3) + hits(b, policy, 3));
  }
}

// The most hits that any choice of evictions gives, by trying all of them.
std::int64_t best_hits(const std::vector<int>& experts, std::size_t slots) {
  std::function<std::int64_t(std::size_t, std::vector<int>)> from = [&](std::size_t i,
                                                                        std::vector<int> here) {
    if (i == experts.size()) return std::int64_t{0};
    if (std::ranges::find(here, experts[i]) != here.end()) return 1 + from(i + 1, here);
    if (here.size() < slots) {
      here.push_back(experts[i]);
      return from(i + 1, here);
    }
    std::int64_t best = 0;
    for (int& slot : here) {
      const int before = slot;
      slot = experts[i];
      best = std::max(best, from(i + 1, here));
      slot = before;
    }
    return best;
  };
  return from(0, {});
}

TEST(ExpertCache, TheOracleIsTheBestThereIs) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const RoutingTrace trace = synthetic_trace(
        {.steps = 14, .layers = 1, .experts = 5, .top_k = 1, .skew = 0.5, .seed = seed});
    std::vector<int> experts;
    for (const auto& uses : trace.uses) experts.push_back(uses[0]);
    for (std::int64_t slots : {2, 3}) {
      EXPECT_EQ(hits(trace, CachePolicy::kOracle, slots),
                best_hits(experts, static_cast<std::size_t>(slots)));
    }
  }
}

TEST(ExpertCache, MoreSlotsAndMoreSkewGiveMoreHits) {
  const TraceShape shape{.steps = 400, .layers = 4, .experts = 16, .top_k = 2};
  TraceShape skewed = shape;
  skewed.skew = 1.2;
  const RoutingTrace even = synthetic_trace(shape), uneven = synthetic_trace(skewed);
  std::int64_t before = 0;
  for (std::int64_t slots : {2, 4, 8, 16}) {
    const std::int64_t lru = hits(uneven, CachePolicy::kLru, slots);
    EXPECT_GT(lru, before);
    EXPECT_GE(hits(uneven, CachePolicy::kOracle, slots), lru);
    if (slots < 16) {
      EXPECT_GT(lru, hits(even, CachePolicy::kLru, slots));
    }
    before = lru;
  }
  EXPECT_EQ(before, 400 * 4 * 2 - 4 * 16);  // all fit: only first uses miss
}

// A step that uses more experts than there are slots keeps what it can and counts the rest.
TEST(ExpertCache, AStepMayNeedMoreThanFits) {
  RoutingTrace trace{.layers = 1, .experts = 4, .uses = {{0, 1, 2}, {0, 1, 2}}};
  const CacheCounts counts = replay(trace, {.slots = 2});
  EXPECT_EQ(counts.uses, 6);
  EXPECT_EQ(counts.hits, 2);
  EXPECT_EQ(counts.layer_misses, (std::vector<int>{3, 1}));
}

// Layer 1 always follows layer 0's choice: after it was seen once, it is there before it is asked
// for, though the single slot held another.
TEST(ExpertCache, WhatFollowsIsFetchedAhead) {
  RoutingTrace trace{.layers = 2, .experts = 8};
  for (int i = 0; i < 20; ++i) {
    trace.uses.push_back({i % 2});
    trace.uses.push_back({4 + i % 2});
  }
  const CacheCounts without = replay(trace, {.slots = 1}),
                    with = replay(trace, {.slots = 1, .prefetch = 1});
  EXPECT_EQ(without.hits, 0);
  EXPECT_EQ(with.hits, 18);
  EXPECT_EQ(with.prefetch_used, 18);
  EXPECT_EQ(with.prefetched, 18);
  const OffloadMachine machine{.link = 1, .memory = 10};
  EXPECT_DOUBLE_EQ(step_seconds(trace, without, 10, 50, machine), 2 * (1 + 10) + 5);
  // The fetch ahead hides behind the first layer's second of arithmetic, but for 9 of its 10.
  EXPECT_DOUBLE_EQ(step_seconds(trace, with, 10, 50, machine),
                   (2 * 22 + 18 * ((10 + 10) + 1)) / 20.0 + 5);
}

// Two layers; only the second one's use of a slot is of interest.
RoutingTrace pairs(const std::vector<std::pair<int, int>>& uses) {
  RoutingTrace trace{.layers = 2, .experts = 8};
  for (const auto& [first, second] : uses) {
    trace.uses.push_back({first});
    trace.uses.push_back({second});
  }
  return trace;
}

TEST(ExpertCache, AFetchAheadIsUsedOnceAndAnExpertThatIsThereIsNotFetched) {
  const CacheSettings one{.slots = 1, .prefetch = 1};
  const CacheCounts there = replay(pairs({{0, 4}, {0, 4}, {0, 4}}), one);
  EXPECT_EQ(there.hits, 4);
  EXPECT_EQ(there.prefetched, 0);
  EXPECT_EQ(there.prefetch_used, 0);
  const CacheCounts back = replay(pairs({{0, 4}, {1, 5}, {0, 4}, {0, 4}, {0, 4}}), one);
  EXPECT_EQ(back.prefetched, 1);  // 4, after 5 had its slot
  EXPECT_EQ(back.prefetch_used, 1);
}

TEST(ExpertCache, WhatIsFetchedAheadTogetherDoesNotPushOutEachOther) {
  const CacheCounts counts =
      replay(pairs({{0, 4}, {0, 4}, {0, 5}, {0, 4}}), {.slots = 1, .prefetch = 2});
  EXPECT_EQ(counts.prefetched, 0);  // 4 and 5 are guessed, and 5 has the slot
  EXPECT_EQ(counts.hits, 3 + 1);    // layer 0's but the first; 4's second use
}

// 4 is guessed and here already, so that 5 makes room for 6.
TEST(ExpertCache, AGuessThatIsThereStays) {
  const CacheCounts counts =
      replay(pairs({{0, 4}, {1, 5}, {0, 6}, {2, 4}}), {.slots = 2, .prefetch = 1});
  EXPECT_EQ(counts.layer_misses[7], 0);
}

// 0 was followed by 4 twice and by 5 once.
TEST(ExpertCache, WhatFollowedMostOftenIsGuessed) {
  const CacheCounts counts =
      replay(pairs({{0, 4}, {0, 4}, {0, 5}, {1, 6}, {1, 7}, {0, 4}}), {.slots = 2, .prefetch = 1});
  EXPECT_EQ(counts.layer_misses[11], 0);
  EXPECT_EQ(counts.prefetched, 1);  // 4 and not 5 too, although there is room for both
}

TEST(ExpertCache, EachLayerHasFollowersOfItsOwn) {
  RoutingTrace trace{.layers = 3, .experts = 8};
  for (int i = 0; i < 20; ++i) {
    for (int layer = 0; layer < 3; ++layer) trace.uses.push_back({2 * layer + i % 2});
  }
  EXPECT_EQ(replay(trace, {.slots = 1, .prefetch = 1}).hits, 2 * 18);  // of layers 1 and 2
}

TEST(ExpertCache, WithoutUsesNothingWasHit) {
  EXPECT_EQ(replay({.layers = 1, .experts = 4, .uses = {{}}}, {.slots = 1}).hit_rate(), 0);
}

// Traces that no file was: made by hand, or cut short.
TEST(ExpertCache, WhatIsNoTraceIsNotReplayed) {
  const CacheSettings one{.slots = 1, .prefetch = 1};
  for (const RoutingTrace& bad :
       {RoutingTrace{.layers = 0, .experts = 4, .uses = {{0}}},
        RoutingTrace{.layers = -1, .experts = 4, .uses = {{0}}},
        RoutingTrace{.layers = 1, .experts = -1, .uses = {{}}},
        RoutingTrace{.layers = 2, .experts = 4, .uses = {{0}, {1}, {2}}},  // half a step
        RoutingTrace{.layers = 1, .experts = 4, .uses = {{4}}},
        RoutingTrace{.layers = 1, .experts = 4, .uses = {{-1}}},
        RoutingTrace{.layers = 1, .experts = 4, .uses = {{2, 1, 2}}}}) {
    EXPECT_THROW(replay(bad, one), Error) << bad.layers << " " << bad.experts;
    EXPECT_THROW(step_seconds(bad, {}, 1, 1, {}), Error);
  }
  EXPECT_EQ((RoutingTrace{.layers = 0}.steps()), 0);
  const RoutingTrace wide{.layers = 1, .experts = 1 << 16, .uses = {{65535}}};
  EXPECT_EQ(replay(wide, {.slots = 1}).uses, 1);  // 32 GiB of counts are not made for nothing
  EXPECT_THROW(replay(wide, one), Error);
}

TEST(ExpertCache, TimeIsThatOfTheTraceThatWasCounted) {
  const RoutingTrace two = single({0, 1});
  const CacheCounts counts = replay(two, {.slots = 1});
  EXPECT_NO_THROW(step_seconds(two, counts, 1, 1, {}));
  EXPECT_THROW(step_seconds(single({0, 1, 2}), counts, 1, 1, {}), Error);
  EXPECT_THROW(step_seconds({.layers = 1, .experts = 1}, {}, 1, 1, {}), Error);  // no step
  EXPECT_THROW(step_seconds(two, counts, 1, 1, {.link = 0}), Error);
}

TEST(ExpertCache, SettingsThatMeanNothingAreRefused) {
  EXPECT_THROW(replay(single({0}), {.slots = 0}), Error);
  EXPECT_THROW(replay(single({0}), {.slots = 1, .prefetch = -1}), Error);
}

}  // namespace
}  // namespace octavo::switch_routing
