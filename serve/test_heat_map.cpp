#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/heat_map.h"

namespace octavo::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HeatMap, ShadesByTheShareOverTheEvenOne) {
  // Of 16 slots an even share is 4: 0, 2, 4 and 10 are 0, 1/2, 1 and 2.5 times that.
  const std::string map = expert_heat_map({3}, {{"a story", {{0, 2, 4, 10}}}});
  EXPECT_THAT(map, HasSubstr("layer 3\n"));
  EXPECT_THAT(map, HasSubstr("a story                   ░░▒▒▓▓\n"));
  EXPECT_THAT(expert_heat_map({0}, {{"x", {{0, 0, 0, 16}}}}), HasSubstr("██\n"));
}

TEST(HeatMap, APromptWithoutTokensIsBlank) {
  EXPECT_THAT(expert_heat_map({0}, {{"x", {{0, 0}}}}), Not(HasSubstr("x  ░")));
}

TEST(HeatMap, ManyExpertsAreNarrowAndLayersWrap) {
  const std::vector<std::int64_t> even(32, 1);
  const std::string map = expert_heat_map({0, 1, 2}, {{"x", {even, even, even}}});
  std::string cells;
  for (int e = 0; e < 32; ++e) cells += "▒";
  EXPECT_THAT(map, HasSubstr("  " + cells + "  " + cells + "\n"));  // two beside each other
  EXPECT_THAT(map, Not(HasSubstr(cells + "  " + cells + "  " + cells)));
  EXPECT_THAT(map, HasSubstr("layer 2"));
}

TEST(HeatMap, TitlesAreCutBetweenCharacters) {
  const std::string map = expert_heat_map({0}, {{"Zoë, Zoë, Zoë, Zoë, Zoë, Zoë", {{1, 1}}}});
  EXPECT_THAT(map, HasSubstr("Zoë, Zoë, Zoë, Zoë, Zo  ▒▒▒▒\n"));
}

TEST(HeatMap, NothingToShow) {
  EXPECT_EQ(expert_heat_map({}, {}), "");
  EXPECT_EQ(expert_heat_map({0}, {}), "");
}

}  // namespace
}  // namespace octavo::serve
