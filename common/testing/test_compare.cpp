#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "common/testing/compare.h"

namespace octavo::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Comparison of(const std::vector<float>& got, const std::vector<float>& want, Tolerance t) {
  return compare(got.data(), want.data(), static_cast<std::int64_t>(got.size()), t);
}

TEST(Compare, ANanNeverPassesUnlessTheReferenceHasOne) {
  EXPECT_FALSE(of({1, kNan}, {1, 2}, {1e9, 1e9}));
  EXPECT_FALSE(of({1, 2}, {1, kNan}, {1e9, 1e9}));
  EXPECT_TRUE(of({1, kNan}, {1, kNan}, {0, 0}));
}

TEST(Compare, InfinitiesAgreeInSign) {
  EXPECT_TRUE(of({kInf}, {kInf}, {}));
  EXPECT_FALSE(of({kInf}, {-kInf}, {1e9, 1e9}));
  EXPECT_FALSE(of({kInf}, {3e38f}, {1e9, 1e9}));
}

TEST(Compare, NamesTheWorstElementAndBothValues) {
  const Comparison c = of({1, 2, 3.5f}, {1, 2.1f, 3}, {0.01, 0});
  EXPECT_FALSE(c);
  EXPECT_EQ(c.worst, 2);
  EXPECT_NE(c.message.find("element 2: got 3.5, want 3"), std::string::npos) << c.message;
}

TEST(Compare, AbsoluteAndRelativeAddUp) {
  EXPECT_TRUE(of({1010}, {1000}, {0, 0.0101}));
  EXPECT_FALSE(of({1010}, {1000}, {0, 0.0099}));
  EXPECT_TRUE(of({1010}, {1000}, {5, 0.0051}));
}

// A tolerance far above the output's own size passes anything element by element; the other two
// measures catch it.
TEST(Compare, FrobeniusAndCosineCatchATinyWrongOutput) {
  const std::vector<float> want = {1e-6f, -2e-6f, 3e-6f}, zero = {0, 0, 0};
  EXPECT_TRUE(of(zero, want, {1e-3, 0}));
  EXPECT_FALSE(of(zero, want, {1e-3, 0, 0.01}));
  EXPECT_FALSE(
      of({-1e-6f, 2e-6f, -3e-6f}, want, {.absolute = 1e-3, .relative = 0, .cosine = 0.99}));
}

TEST(Compare, ShapesMustAgree) {
  std::vector<float> a(6), b(6);
  EXPECT_FALSE(compare(View<float, 2>(a, {2, 3}), View<float, 2>(b, {3, 2}), {}));
  EXPECT_TRUE(compare(View<float, 2>(a, {2, 3}), View<float, 2>(b, {2, 3}), {}));
}

TEST(Compare, NothingIsEqualToNothing) { EXPECT_TRUE(of({}, {}, {})); }

}  // namespace
}  // namespace octavo::testing
