#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "04_paged_kv/rope.h"
#include "common/base/error.h"
#include "common/testing/random.h"

namespace octavo {
namespace {

std::vector<float> turned(std::vector<float> x, std::int64_t H, std::int64_t Dh,
                          std::int64_t position, RopePairing pairing = RopePairing::kHalves) {
  const std::vector<std::int64_t> positions = {position};
  rope_reference(View<float, 3>(x, {1, H, Dh}), positions, 10000, pairing);
  return x;
}

TEST(Rope, HandComputed) {
  // Dh = 4: the pair (x0, x2) turns by 3 rad, the pair (x1, x3) by 3 / sqrt(theta) = 0.03 rad.
  const std::vector<float> y = turned({1, 2, 3, 4}, 1, 4, 3);
  EXPECT_NEAR(y[0], 1 * std::cos(3.0) - 3 * std::sin(3.0), 1e-6);
  EXPECT_NEAR(y[2], 3 * std::cos(3.0) + 1 * std::sin(3.0), 1e-6);
  EXPECT_NEAR(y[1], 2 * std::cos(0.03) - 4 * std::sin(0.03), 1e-6);
  EXPECT_NEAR(y[3], 4 * std::cos(0.03) + 2 * std::sin(0.03), 1e-6);
}

// Neighbours are the same pairs, stored next to each other.
TEST(Rope, NeighboursAreHalvesInAnotherOrder) {
  const std::vector<float> halves = turned({1, 2, 3, 4, 5, 6}, 1, 6, 3);
  const std::vector<float> neighbours =
      turned({1, 4, 2, 5, 3, 6}, 1, 6, 3, RopePairing::kNeighbours);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(neighbours[2 * i], halves[i]);
    EXPECT_EQ(neighbours[2 * i + 1], halves[i + 3]);
  }
}

TEST(Rope, PositionZeroChangesNothing) {
  const std::vector<float> x = testing::normal(2 * 8, 1);
  EXPECT_EQ(turned(x, 2, 8, 0), x);
}

// The reason for the embedding: q . k depends on the distance of the positions only.
TEST(Rope, ScoresDependOnTheDistance) {
  const std::vector<float> q = testing::normal(16, 2), k = testing::normal(16, 3);
  const auto score = [&](std::int64_t i, std::int64_t j) {
    const std::vector<float> a = turned(q, 1, 16, i), b = turned(k, 1, 16, j);
    double sum = 0;
    for (std::size_t d = 0; d < 16; ++d)
      sum += static_cast<double>(a[d]) * static_cast<double>(b[d]);
    return sum;
  };
  for (std::int64_t shift : {1, 10, 500})
    EXPECT_NEAR(score(7, 3), score(7 + shift, 3 + shift), 1e-5);
  EXPECT_GT(std::abs(score(7, 3) - score(8, 3)), 1e-3);
}

TEST(Rope, OddWidthsAreRefused) { EXPECT_THROW(turned({1, 2, 3}, 1, 3, 1), Error); }

}  // namespace
}  // namespace octavo
