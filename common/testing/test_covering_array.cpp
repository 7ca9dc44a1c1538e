#include <gtest/gtest.h>

#include <set>

#include "common/base/error.h"
#include "common/testing/covering_array.h"

namespace octavo::testing {
namespace {

// Counts, by brute force, the triples of axes whose combinations are not all among the rows.
int uncovered_triples(const std::vector<std::vector<int>>& rows, const std::vector<int>& levels) {
  int missing = 0;
  for (std::size_t a = 0; a < levels.size(); ++a) {
    for (std::size_t b = a + 1; b < levels.size(); ++b) {
      for (std::size_t c = b + 1; c < levels.size(); ++c) {
        std::set<std::vector<int>> seen;
        for (const auto& r : rows) seen.insert({r[a], r[b], r[c]});
        missing += static_cast<int>(seen.size()) != levels[a] * levels[b] * levels[c];
      }
    }
  }
  return missing;
}

TEST(CoveringArray, EveryTripleOccursInFarFewerRowsThanTheProduct) {
  for (const std::vector<int>& levels : {std::vector<int>{3, 3, 3, 3, 3, 3},
                                         {5, 4, 3, 2, 2, 2, 2},
                                         {2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
                                         {6, 5, 4}}) {
    const auto rows = covering_array(levels);
    EXPECT_EQ(uncovered_triples(rows, levels), 0);
    std::size_t product = 1;
    for (int n : levels) product *= static_cast<std::size_t>(n);
    if (levels.size() > 3) {
      EXPECT_LE(rows.size() * 8, product) << levels.size() << " axes: " << rows.size() << " rows";
    }
    for (const auto& row : rows) {
      for (std::size_t a = 0; a < levels.size(); ++a) {
        EXPECT_GE(row[a], 0);
        EXPECT_LT(row[a], levels[a]);
      }
    }
  }
}

TEST(CoveringArray, ThreeAxesOrFewerGiveTheProduct) {
  EXPECT_EQ(covering_array({6, 5, 4}).size(), 120u);
  EXPECT_EQ(covering_array({3, 2}).size(), 6u);
  EXPECT_EQ(covering_array({4}).size(), 4u);
  EXPECT_TRUE(covering_array({}).empty());
}

TEST(CoveringArray, LowerStrengthNeedsFewerRows) {
  EXPECT_LT(covering_array({3, 3, 3, 3}, 2).size(), covering_array({3, 3, 3, 3}, 3).size());
  EXPECT_EQ(covering_array({3, 4, 2}, 1).size(), 4u);
}

TEST(CoveringArray, IsTheSameEveryTime) {
  EXPECT_EQ(covering_array({4, 3, 3, 2, 2}), covering_array({4, 3, 3, 2, 2}));
}

TEST(CoveringArray, RefusesAnEmptyAxis) {
  EXPECT_THROW(covering_array({3, 0, 2}), Error);
  EXPECT_THROW(covering_array({3, 2}, 0), Error);
}

}  // namespace
}  // namespace octavo::testing
