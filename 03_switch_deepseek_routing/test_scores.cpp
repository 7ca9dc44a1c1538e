// The scores of routers and the keys that order them, at the edges.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "03_switch_deepseek_routing/grouped_top_k_math.h"
#include "03_switch_deepseek_routing/probabilities.h"

namespace octavo::switch_routing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<double> softmax_of(const std::vector<float>& z) {
  return softmax(View<const float, 1>(z, {std::ssize(z)}));
}

TEST(Scores, ASoftmaxIsOfDifferences) {
  for (float shift : {-1e4f, 0.0f, 1e4f}) {
    const std::vector<double> p = softmax_of({shift, shift - 1, -kInf});
    EXPECT_NEAR(p[0], 1 / (1 + std::exp(-1)), 1e-12) << shift;
    EXPECT_NEAR(p[0] + p[1], 1, 1e-12) << shift;
    EXPECT_EQ(p[2], 0);
  }
}

TEST(Scores, ARowWithoutASoftmaxIsNanThroughout) {
  for (const std::vector<float>& z :
       {std::vector<float>{0, kNan, 1}, {0, kInf, 1}, {-kInf, -kInf, -kInf}}) {
    for (double p : softmax_of(z)) EXPECT_TRUE(std::isnan(p));
  }
}

TEST(Scores, ASigmoidOfInfinityIsNoughtOrOne) {
  const std::vector<float> z = {-kInf, 0, kInf};
  EXPECT_EQ(sigmoid(View<const float, 1>(z, {3})), (std::vector<double>{0, 0.5, 1}));
  EXPECT_EQ(sigmoid_score(-kInf), 0);
  EXPECT_EQ(sigmoid_score(kInf), 1);
}

TEST(ChoiceKey, OrdersByValueAndThenByTheLowerId) {
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  float before = -kInf;
  for (float value : {-1e30f, -1.0f, -kTiny, 0.0f, kTiny, 1.0f, 1e30f, kInf}) {
    EXPECT_LT(choice_key(before, 0), choice_key(value, 1023)) << value;
    EXPECT_GT(choice_key(value, 3), choice_key(value, 4)) << value;
    before = value;
  }
  EXPECT_GT(choice_key(-0.0f, 3), choice_key(0.0f, 4));  // equal, so the lower id
  EXPECT_GT(choice_key(0.0f, 3), choice_key(-0.0f, 4));
  EXPECT_GT(choice_key(-kInf, 1023), 0u);  // above "none"
  for (int id : {0, 1, 1023}) {
    EXPECT_EQ(id_of(choice_key(-1, id)), id);
    EXPECT_EQ(id_of(choice_key(kInf, id)), id);
  }
}

TEST(ChoiceKey, ASumOfNothingDividesToNothing) {
  EXPECT_EQ(0.0f / guarded(0), 0);
  EXPECT_EQ(guarded(0.25f), 0.25f);
}

}  // namespace
}  // namespace octavo::switch_routing
