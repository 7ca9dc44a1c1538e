// Traces of routing decisions: made ones, and files.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "03_switch_deepseek_routing/expert_cache.h"
#include "common/base/error.h"
#include "common/model/test_files.h"

namespace octavo::switch_routing {
namespace {

TEST(RoutingTrace, TokensStayAsOftenAsTheyShouldAndEachWithItsOwnExpert) {
  const auto stayed = [](double stay) {
    const RoutingTrace trace =
        synthetic_trace({.steps = 500, .layers = 1, .experts = 64, .top_k = 1, .stay = stay});
    int n = 0;
    for (std::size_t i = 1; i < trace.uses.size(); ++i) n += trace.uses[i] == trace.uses[i - 1];
    return n;
  };
  EXPECT_LT(stayed(0), 30);
  EXPECT_GT(stayed(0.9), 400);
  const RoutingTrace batch = synthetic_trace(
      {.steps = 20, .layers = 1, .experts = 64, .top_k = 1, .batch = 8, .stay = 0.9});
  std::size_t distinct = 0;
  for (const std::vector<int>& uses : batch.uses) distinct += uses.size();
  EXPECT_GT(distinct, std::size_t{20 * 5});  // 8 tokens, rarely two with one expert
}

// A token keeps its expert of the step before, not of the layer before.
TEST(RoutingTrace, TokensStayInEachLayerByItself) {
  const RoutingTrace trace =
      synthetic_trace({.steps = 500, .layers = 2, .experts = 64, .top_k = 1, .stay = 0.9});
  int steps = 0, layers = 0;
  for (std::size_t i = 2; i < trace.uses.size(); ++i) {
    steps += trace.uses[i] == trace.uses[i - 2];
    layers += trace.uses[i] == trace.uses[i - 1];
  }
  EXPECT_GT(steps, 800);  // 0.9 of 998
  EXPECT_LT(layers, 200);
}

// A shuffle that stops one swap short leaves two experts as they were.
TEST(RoutingTrace, AnyExpertMayBeTheFavourite) {
  const RoutingTrace trace =
      synthetic_trace({.steps = 200, .layers = 16, .experts = 2, .top_k = 1, .skew = 3});
  int first = 0;
  for (std::size_t layer = 0; layer < 16; ++layer) {
    int zeros = 0;
    for (std::size_t i = layer; i < trace.uses.size(); i += 16) zeros += trace.uses[i][0] == 0;
    first += zeros > 100;
  }
  EXPECT_GT(first, 0);
  EXPECT_LT(first, 16);
}

TEST(RoutingTrace, LayersHaveFavouritesOfTheirOwn) {
  const RoutingTrace trace =
      synthetic_trace({.steps = 400, .layers = 4, .experts = 64, .top_k = 1, .skew = 2});
  std::set<int> favourites;
  for (std::size_t layer = 0; layer < 4; ++layer) {
    std::vector<int> used(64);
    for (std::size_t i = layer; i < trace.uses.size(); i += 4) {
      ++used[static_cast<std::size_t>(trace.uses[i][0])];
    }
    EXPECT_GT(std::ranges::max(used), 400 / 2);  // 1 / (1 + 1/4 + 1/9 + ..) is 0.61
    favourites.insert(static_cast<int>(std::ranges::max_element(used) - used.begin()));
  }
  EXPECT_GE(favourites.size(), 3u);
}

TEST(RoutingTrace, AFileIsCheckedBeforeItIsBelieved) {
  const model::TempFolder folder;
  const auto read = [&](std::string_view text) {
    return read_trace(folder.write("trace.json", text).string());
  };
  const RoutingTrace good = read(R"({"layers": 2, "experts": 4, "uses": [[0, 3], [1]]})");
  EXPECT_EQ(good.uses, (std::vector<std::vector<int>>{{0, 3}, {1}}));
  EXPECT_EQ(read(R"({"layers": 1, "experts": 65536, "uses": [[65535]]})").uses[0][0], 65535);
  for (const char* bad :
       {R"({"layers": 2, "experts": 4, "uses": [[0]]})",
        R"({"layers": 0, "experts": 4, "uses": []})",
        R"({"layers": 0, "experts": 4, "uses": [[0]]})",
        R"({"layers": 1, "experts": 65537, "uses": [[0]]})",
        R"({"layers": 1, "experts": 4, "uses": [[4]]})",
        R"({"layers": 1, "experts": 4, "uses": [[-1]]})",
        R"({"layers": 1, "experts": 4, "uses": [[0, 0]]})",
        R"({"layers": 1, "experts": 4, "uses": [[0.5]]})",
        R"({"layers": 1, "experts": 4, "uses": [0]})", R"({"layers": 1, "experts": 4, "uses": []})",
        R"({"layers": 1.7, "experts": 4, "uses": [[0]]})",
        R"({"layers": 1, "experts": 1000000000000, "uses": [[0]]})",
        R"({"layers": 4611686018427387904, "experts": 4, "uses": [[0]]})",
        R"({"layers": 1, "uses": [[0]]})", "no JSON"}) {
    EXPECT_THROW(read(bad), Error) << bad;
  }
}

TEST(RoutingTrace, SizesWhoseProductOverflowsAreRefused) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 32;
  const TraceShape fits{.steps = 1, .layers = 1, .experts = 2, .top_k = 1};
  for (std::int64_t TraceShape::*size :
       {&TraceShape::steps, &TraceShape::layers, &TraceShape::experts, &TraceShape::batch}) {
    TraceShape shape = fits;
    shape.*size = kHuge;
    EXPECT_THROW(synthetic_trace(shape), Error);
  }
}

TEST(RoutingTrace, WhatIsNoTraceIsRefused) {
  EXPECT_THROW(read_trace("no such file"), Error);
  const TraceShape good{.steps = 1, .layers = 1, .experts = 16, .top_k = 10, .skew = 4.9};
  EXPECT_NO_THROW(synthetic_trace(good));  // 10^-4.9 is just above 1e-5
  for (const auto& spoil : std::vector<void (*)(TraceShape&)>{
           [](TraceShape& s) { s.top_k = 17, s.skew = 0; }, [](TraceShape& s) { s.top_k = 0; },
           [](TraceShape& s) { s.layers = 0; }, [](TraceShape& s) { s.batch = 0; },
           [](TraceShape& s) { s.steps = -1; }, [](TraceShape& s) { s.stay = 1; },
           [](TraceShape& s) { s.stay = -0.1; }, [](TraceShape& s) { s.skew = 5.1; },
           [](TraceShape& s) { s.skew = -1; }, [](TraceShape& s) { s.skew = 1e4; }}) {
    TraceShape bad = good;
    spoil(bad);
    EXPECT_THROW(synthetic_trace(bad), Error);
  }
}

}  // namespace
}  // namespace octavo::switch_routing
