#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "04_paged_kv/rms_norm.h"
#include "common/base/error.h"

namespace octavo {
namespace {

TEST(RmsNorm, HandComputed) {
  const std::vector<float> x = {3, 4, 0, 0}, weight = {1, 2};
  std::vector<float> y(4);
  rms_norm_reference(View<const float, 2>(x, {2, 2}), weight, 1e-5, View<float, 2>(y, {2, 2}));
  EXPECT_NEAR(y[0], 3 / std::sqrt(12.5 + 1e-5), 1e-6);
  EXPECT_NEAR(y[1], 2 * 4 / std::sqrt(12.5 + 1e-5), 1e-6);
  EXPECT_EQ(y[2], 0);  // epsilon keeps a zero row finite
  EXPECT_EQ(y[3], 0);
}

TEST(RmsNorm, LargeValuesDoNotOverflow) {
  const std::vector<float> x = {3e38f, 3e38f}, weight = {1, 1};
  std::vector<float> y(2);
  rms_norm_reference(View<const float, 2>(x, {1, 2}), weight, 1e-5, View<float, 2>(y, {1, 2}));
  EXPECT_NEAR(y[0], 1, 1e-6);
}

TEST(RmsNorm, WrongSizesAreRefused) {
  const std::vector<float> x(4), weight(3);
  std::vector<float> y(4);
  EXPECT_THROW(
      rms_norm_reference(View<const float, 2>(x, {2, 2}), weight, 1e-5, View<float, 2>(y, {2, 2})),
      Error);
}

}  // namespace
}  // namespace octavo
