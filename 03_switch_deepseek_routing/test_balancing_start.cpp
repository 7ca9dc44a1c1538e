// What the balancing laboratory starts from: its inputs and its weights.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "03_switch_deepseek_routing/balancing.h"

namespace octavo::switch_routing {
namespace {

LabSettings settings(std::int64_t tokens, bool shifted = false) {
  return {.shifted = shifted, .tokens = tokens};
}

double mean_of(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

double deviation_of(const std::vector<double>& v) {
  const double mean = mean_of(v);
  double sum = 0;
  for (double x : v) sum += (x - mean) * (x - mean);
  return std::sqrt(sum / static_cast<double>(v.size()));
}

double square_distance(const double* a, const double* b) {
  double sum = 0;
  for (std::int64_t d = 0; d < kLabWidth; ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return sum;
}

// Two inputs of one cluster are about 1.7 apart (0.3 times the root of 2 x 16), two centres about
// 5.7.
bool of_one_cluster(const double* a, const double* b) { return square_distance(a, b) < 2.8 * 2.8; }

// The inputs of each cluster, the most common one first.
std::vector<std::vector<const double*>> clusters_of(const LabBatch& batch) {
  std::vector<std::vector<const double*>> all;
  for (std::size_t i = 0; i < batch.x.size(); i += kLabWidth) {
    const double* const x = &batch.x[i];
    const auto at = std::ranges::find_if(
        all, [&](const auto& cluster) { return of_one_cluster(cluster[0], x); });
    if (at == all.end()) {
      all.push_back({x});
    } else {
      at->push_back(x);
    }
  }
  std::ranges::sort(all, std::greater<>(), [](const auto& cluster) { return cluster.size(); });
  return all;
}

TEST(LabBatch, IsOfClustersSomeFarMoreCommonThanOthers) {
  const LabBatch batch = lab_batch(settings(4096), 0);
  const auto clusters = clusters_of(batch);
  ASSERT_EQ(std::ssize(clusters), kLabClusters);
  double harmonic = 0;
  for (int c = 1; c <= kLabClusters; ++c) harmonic += 1.0 / c;
  for (std::size_t c = 0; c < 4; ++c) {  // Zipf
    const double share = static_cast<double>(clusters[c].size()) / 4096;
    EXPECT_NEAR(share, 1 / (static_cast<double>(c + 1) * harmonic), 0.02) << c;
  }
  for (std::size_t d = 0; d < kLabWidth; ++d) {  // noise about the most common centre
    std::vector<double> values;
    for (const double* x : clusters[0]) values.push_back(x[d]);
    EXPECT_NEAR(deviation_of(values), 0.3, 0.03) << d;
  }
}

TEST(LabBatch, IsAnotherInEveryStepAndWithEverySeed) {
  const LabSettings s = settings(256);
  LabSettings other = s;
  other.seed = 2;
  const LabBatch first = lab_batch(s, 0), second = lab_batch(s, 1);
  EXPECT_NE(first.x, lab_batch(other, 0).x);
  int same = 0, near = 0;
  for (std::size_t i = 0; i < first.x.size(); i += kLabWidth) {
    same += square_distance(&first.x[i], &second.x[i]) == 0;
    near += of_one_cluster(&first.x[i], &second.x[i]);
  }
  EXPECT_EQ(same, 0);
  EXPECT_LT(near, 256 / 4);  // by chance: the squares of the shares add up to 0.1
}

// All inputs share a mean that is larger than what tells them apart.
TEST(LabBatch, ShiftedInputsShareAMean) {
  for (const bool shifted : {false, true}) {
    const LabBatch batch = lab_batch(settings(4096, shifted), 0);
    EXPECT_NEAR(mean_of(batch.x), shifted ? 1.5 : 0, 0.3);
    // Centres of deviation 0.5 or 1, noise of 0.3.
    EXPECT_NEAR(deviation_of(batch.x), std::sqrt((shifted ? 0.25 : 1) + 0.09), 0.15);
  }
}

// The mean product of a[i] and b[i], as a share of the most that it can be.
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double sum = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  return sum / static_cast<double>(a.size()) / deviation_of(a) / deviation_of(b);
}

// Weights are drawn one by one, so that W1 and W2 of an expert have nothing in common, nor has a
// weight with the next; their deviations keep the size of what passes through.
TEST(LabModel, StartsFromIndependentWeights) {
  for (const bool shifted : {false, true}) {
    const LabModel model(settings(256, shifted));
    constexpr std::ptrdiff_t kRouter = kLabExperts * kLabWidth, kHalf = kLabHidden * kLabWidth;
    const auto at = model.parameters.begin() + kRouter;
    const std::vector<double> router(model.parameters.begin(), at), W1(at, at + kHalf),
        W2(at + kHalf, at + 2 * kHalf);
    EXPECT_NEAR(deviation_of(router), shifted ? 0.3 : 0.1, shifted ? 0.06 : 0.02);
    EXPECT_NEAR(deviation_of(W1), std::sqrt(2.0 / kLabWidth), 0.05);
    EXPECT_NEAR(deviation_of(W2), std::sqrt(1.0 / kLabHidden), 0.03);
    EXPECT_LT(std::abs(correlation(W1, W2)), 0.15);
    std::vector<double> even, odd;
    for (std::size_t i = 0; i < W1.size(); ++i) (i % 2 == 0 ? even : odd).push_back(W1[i]);
    EXPECT_LT(std::abs(correlation(even, odd)), 0.2);
  }
}

}  // namespace
}  // namespace octavo::switch_routing
