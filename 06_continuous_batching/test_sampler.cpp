#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "06_continuous_batching/sampler.h"
#include "common/base/error.h"

namespace octavo {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const std::vector<float> kLogits = {std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.3f)};

void expect_near(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << i;
}

TEST(SamplingDistribution, TemperatureTopKAndTopP) {
  expect_near(sampling_distribution(kLogits, {}), {0.1, 0.4, 0.2, 0.3});
  expect_near(sampling_distribution(kLogits, {.temperature = 0.5}),
              {0.01 / 0.3, 0.16 / 0.3, 0.04 / 0.3, 0.09 / 0.3});
  expect_near(sampling_distribution(kLogits, {.top_k = 2}), {0, 4.0 / 7, 0, 3.0 / 7});
  expect_near(sampling_distribution(kLogits, {.top_p = 0.65}), {0, 4.0 / 7, 0, 3.0 / 7});
  expect_near(sampling_distribution(kLogits, {.top_p = 0.75}), {0, 4.0 / 9, 2.0 / 9, 3.0 / 9});
  expect_near(sampling_distribution(kLogits, {.top_k = 99, .top_p = 1e-9}), {0, 1, 0, 0});
  // top-p is taken of what top-k left: 0.4 / 0.7 = 0.57 of the mass already reaches 0.5.
  expect_near(sampling_distribution(kLogits, {.top_k = 2, .top_p = 0.5}), {0, 1, 0, 0});
}

TEST(SamplingDistribution, GreedyAndTiesGoToTheLowerId) {
  expect_near(sampling_distribution(kLogits, {.temperature = 0}), {0, 1, 0, 0});
  expect_near(sampling_distribution(std::vector<float>{1, 3, 3, 2}, {.temperature = 0}),
              {0, 1, 0, 0});
  expect_near(sampling_distribution(std::vector<float>{1, 1, 1, 1}, {.top_k = 2}),
              {0.5, 0.5, 0, 0});
}

TEST(SamplingDistribution, ExtremeTemperaturesStayFinite) {
  expect_near(sampling_distribution(std::vector<float>{1e4f, 0, -1e4f}, {.temperature = 1e-3}),
              {1, 0, 0});
  expect_near(sampling_distribution(std::vector<float>{1, 0, -1}, {.temperature = 1e30}),
              {1.0 / 3, 1.0 / 3, 1.0 / 3});
  expect_near(sampling_distribution(std::vector<float>{-kInf, 0, -kInf}, {}), {0, 1, 0});
}

TEST(SamplingDistribution, BadLogitsAndParametersAreRefused) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(sampling_distribution(std::vector<float>{0, nan}, {}), Error);
  EXPECT_THROW(sampling_distribution(std::vector<float>{0, nan}, {.temperature = 0}), Error);
  EXPECT_THROW(sampling_distribution(std::vector<float>{nan, 0}, {.temperature = 0}), Error);
  EXPECT_THROW(sampling_distribution(std::vector<float>{0, kInf}, {}), Error);
  EXPECT_THROW(sampling_distribution(std::vector<float>{-kInf, -kInf}, {}), Error);
  EXPECT_THROW(sampling_distribution({}, {}), Error);
  for (const SamplingParams& bad :
       {SamplingParams{.temperature = -1}, SamplingParams{.temperature = std::nan("")},
        SamplingParams{.temperature = INFINITY}, SamplingParams{.top_k = -1},
        SamplingParams{.top_p = 0}, SamplingParams{.top_p = 1.01},
        SamplingParams{.top_p = std::nan("")}}) {
    EXPECT_THROW(check(bad), Error);
  }
}

TEST(Sample, FollowsTheDistribution) {
  constexpr int n = 40000;
  for (const SamplingParams& params :
       {SamplingParams{}, SamplingParams{.temperature = 0.7, .top_k = 3}}) {
    std::vector<double> count(kLogits.size());
    for (int i = 0; i < n; ++i) count[static_cast<std::size_t>(sample(kLogits, params, 0, i))] += 1;
    const std::vector<double> p = sampling_distribution(kLogits, params);
    double chi_squared = 0;
    for (std::size_t v = 0; v < p.size(); ++v) {
      if (p[v] == 0) {
        EXPECT_EQ(count[v], 0);
      } else {
        chi_squared += (count[v] - n * p[v]) * (count[v] - n * p[v]) / (n * p[v]);
      }
    }
    EXPECT_LT(chi_squared, 16.3);  // 3 degrees of freedom, 0.1 %
  }
}

TEST(Sample, DependsOnSeedSampleAndPositionOnly) {
  const std::vector<float> flat(64, 0.0f);
  const auto draws = [&](std::uint64_t seed, std::uint32_t index) {
    std::vector<int> ids;
    for (int position = 0; position < 20; ++position)
      ids.push_back(sample(flat, {.seed = seed}, index, position));
    return ids;
  };
  EXPECT_EQ(draws(1, 0), draws(1, 0));
  EXPECT_NE(draws(1, 0), draws(2, 0));
  EXPECT_NE(draws(1, 0), draws(1, 1));
}

}  // namespace
}  // namespace octavo
