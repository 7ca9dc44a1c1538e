#include <gtest/gtest.h>

#include <set>

#include "common/base/philox.h"

namespace octavo {
namespace {

// The known-answer vectors of Random123 (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformDependsOnEveryPartOfItsKey) {
  const std::set<float> values = {
      uniform(1, 0, 0, Purpose::kSample),          uniform(2, 0, 0, Purpose::kSample),
      uniform(1, 1, 0, Purpose::kSample),          uniform(1, 0, 1, Purpose::kSample),
      uniform(1, 0, 0, Purpose::kAccept),          uniform(1, 0, 0, Purpose::kSample, 1),
      uniform(1ull << 32, 0, 0, Purpose::kSample), uniform(1, 0, 1ull << 32, Purpose::kSample)};
  EXPECT_EQ(values.size(), 8u);
}

TEST(Philox, UniformIsUniform) {
  constexpr int n = 200000, bins = 16;
  int count[bins] = {};
  for (int i = 0; i < n; ++i) {
    const float u = uniform(7, 0, static_cast<std::uint64_t>(i), Purpose::kTest);
    ASSERT_GE(u, 0.0f);
    ASSERT_LT(u, 1.0f);
    ++count[static_cast<int>(u * bins)];
  }
  constexpr double expected = static_cast<double>(n) / bins;
  double chi_squared = 0;
  for (int c : count) chi_squared += (c - expected) * (c - expected) / expected;
  EXPECT_LT(chi_squared, 37.7);  // 15 degrees of freedom, 0.1 %
}

}  // namespace
}  // namespace octavo
