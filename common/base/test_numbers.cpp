#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/base/numbers.h"

namespace octavo {
namespace {

TEST(Bf16, EveryPatternSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    bf16 x;
    x.bits = static_cast<std::uint16_t>(bits);
    const float value = static_cast<float>(x);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(bf16(value))));
    } else {
      ASSERT_EQ(bf16(value).bits, x.bits) << bits;
    }
  }
}

TEST(Bf16, RoundsToNearestTiesToEven) {
  EXPECT_EQ(bf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(bf16(1.0f + 0x1p-8f).bits, 0x3f80);             // half way: to the even neighbour below
  EXPECT_EQ(bf16(1.0f + 0x1p-8f + 0x1p-20f).bits, 0x3f81);  // just above half way
  EXPECT_EQ(bf16(1.0f + 3 * 0x1p-8f).bits, 0x3f82);         // half way: to the even neighbour above
  EXPECT_EQ(bf16(std::numeric_limits<float>::max()).bits, 0x7f80);  // rounds to infinity
}

TEST(Half, EveryPatternSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    half x;
    x.bits = static_cast<std::uint16_t>(bits);
    const float value = static_cast<float>(x);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(half(value))));
    } else {
      ASSERT_EQ(half(value).bits, x.bits) << bits;
    }
  }
}

TEST(Half, KnownValuesAndEdges) {
  EXPECT_EQ(half(1.0f).bits, 0x3c00);
  EXPECT_EQ(half(-2.0f).bits, 0xc000);
  EXPECT_EQ(half(65504.0f).bits, 0x7bff);
  EXPECT_EQ(half(65519.99f).bits, 0x7bff);
  EXPECT_EQ(half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(half(0x1p-24f).bits, 0x0001);
  EXPECT_EQ(half(0x1p-25f).bits,
            0x0000);  // half way to the smallest subnormal: to even, which is zero
  EXPECT_EQ(half(0x1p-25f * 1.001f).bits, 0x0001);
  EXPECT_EQ(half(-0.0f).bits, 0x8000);
}

// Against the definition: of all halves, the nearest; at a tie the one with an even last bit.
TEST(Half, NearestOfTheNeighboursEverywhereBetweenTwoPatterns) {
  for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
    half low, high;
    low.bits = bits;
    high.bits = static_cast<std::uint16_t>(bits + 1);
    const double a = static_cast<float>(low), b = static_cast<float>(high), middle = (a + b) / 2;
    ASSERT_EQ(half(static_cast<float>(middle)).bits, bits % 2 == 0 ? bits : bits + 1) << bits;
    ASSERT_EQ(half(static_cast<float>(a + (b - a) * 0.499)).bits, bits);
    ASSERT_EQ(half(static_cast<float>(a + (b - a) * 0.501)).bits, bits + 1);
  }
}

}  // namespace
}  // namespace octavo
