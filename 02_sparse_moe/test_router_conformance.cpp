// Every softmax router in use against its definition, computed by other means: the reference, and
// the versions that the engine picks on each device.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "02_sparse_moe/moe.h"
#include "02_sparse_moe/versions.h"
#include "common/base/threads.h"
#include "common/testing/random.h"

namespace octavo {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Kind {
  std::string name;
  SoftmaxOrder order;
  bool normalize, bias;
  bool sums_to_one() const { return normalize || order == SoftmaxOrder::kTopKSoftmax; }
};

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  for (SoftmaxOrder order : {SoftmaxOrder::kSoftmaxTopK, SoftmaxOrder::kTopKSoftmax}) {
    for (bool normalize : {false, true}) {
      for (bool bias : {false, true}) {
        const bool first = order == SoftmaxOrder::kSoftmaxTopK;
        all.push_back({std::string(first ? "softmax_topk" : "topk_softmax") +
                           (normalize ? "_normalize" : "") + (bias ? "_bias" : ""),
                       order, normalize, bias});
      }
    }
  }
  return all;
}

struct Case {
  std::int64_t T, E, k;
};

// All experts with a few batches, all batches with a few experts, one large.
std::vector<Case> cases() {
  std::vector<Case> all;
  constexpr std::int64_t kSizes[][2] = {{1, 1},  {3, 2},  {5, 5},   {16, 4},  {17, 4},  {60, 4},
                                        {64, 8}, {65, 6}, {160, 6}, {256, 8}, {384, 8}, {1024, 10}};
  for (const auto& [E, k] : kSizes) {
    for (std::int64_t T : {1, 17, 65}) all.push_back({T, E, k});
  }
  for (std::int64_t T = 0; T <= 17; ++T) all.push_back({T, 8, 2});
  for (std::int64_t T : {63, 64, 65, 1000}) all.push_back({T, 32, 4});
  return all;
}

// Logits in quarters, so that many tie; every seventh row from the third on has no softmax.
std::vector<float> logits_of(const Case& c) {
  std::vector<float> z = testing::normal(c.T * c.E, 31, 2);
  for (std::int64_t i = 0; i < c.T * c.E; ++i) {
    float& v = z[static_cast<std::size_t>(i)];
    v = std::round(v * 4) / 4;
    const std::int64_t t = i / c.E, e = i % c.E;
    if (t % 7 != 3) continue;
    if (t / 7 % 3 == 2) v = -kInf;
    if (t / 7 % 3 < 2 && e == t % c.E) v = t / 7 % 3 == 0 ? kNan : kInf;
  }
  return z;
}

void check_row(const Kind& kind, const std::vector<float>& z, const int* ids, const float* weights,
               std::int64_t k) {
  const auto n = static_cast<std::size_t>(k);
  const bool bad = std::ranges::any_of(z, [](float v) { return !(v < kInf); }) ||
                   std::ranges::all_of(z, [](float v) { return v == -kInf; });
  std::vector<int> want(z.size());
  std::iota(want.begin(), want.end(), 0);
  if (!bad) {
    std::ranges::stable_sort(want, [&](int a, int b) {
      return z[static_cast<std::size_t>(a)] > z[static_cast<std::size_t>(b)];
    });
  }
  ASSERT_EQ(std::vector<int>(ids, ids + k), std::vector<int>(want.begin(), want.begin() + k));
  double all = 0, chosen = 0, sum = 0;
  const auto share = [&](std::size_t e) { return std::exp(static_cast<double>(z[e])); };
  for (std::size_t e = 0; e < z.size(); ++e) all += share(e);
  for (std::size_t j = 0; j < n; ++j) chosen += share(static_cast<std::size_t>(want[j]));
  for (std::size_t j = 0; j < n; ++j) {
    if (bad) {
      EXPECT_TRUE(std::isnan(weights[j]));
      continue;
    }
    const double p = share(static_cast<std::size_t>(want[j]));
    EXPECT_NEAR(weights[j], p / (kind.sums_to_one() ? chosen : all), 2e-6);
    sum += static_cast<double>(weights[j]);
  }
  if (!bad && kind.sums_to_one()) {
    EXPECT_NEAR(sum, 1, 1e-5);
  } else if (!bad && z.size() > n) {
    EXPECT_LT(sum, 1);
  }
}

class RouterConformance : public ::testing::TestWithParam<std::tuple<std::string, Kind>> {
 protected:
  // "reference", or a backend's versions.
  std::unique_ptr<Router> router(const SoftmaxRouting& routing) const {
    if (std::get<0>(GetParam()) == "reference") {
      return make_router(ReferenceLinearFactory(), routing);
    }
    return make_router(VersionLinearFactory(registry_of(sparse_moe::append_versions), device()),
                       routing);
  }
  Device device() const { return std::get<0>(GetParam()) == "simt" ? simt_device() : cpu_device(); }
};

TEST_P(RouterConformance, IsTheDefinition) {
  const Kind& kind = std::get<1>(GetParam());
  ThreadPool threads(2);
  for (const Case& c : cases()) {
    SCOPED_TRACE(fmt::format("T {} E {} k {}", c.T, c.E, c.k));
    SoftmaxRouting routing{
        .experts = c.E, .top_k = c.k, .order = kind.order, .normalize = kind.normalize};
    if (kind.bias) routing.bias = testing::normal(c.E, 32);
    for (float& b : routing.bias) b = std::round(b * 4) / 4;
    const auto route = router(routing);
    const std::vector<float> z = logits_of(c);
    std::vector<int> ids(static_cast<std::size_t>(c.T * c.k), -7);
    std::vector<float> weights(ids.size(), -7);
    Exec exec(device(), DType::kF32, threads, route->workspace(c.T));
    route->choose(exec, View<const float, 2>(z, {c.T, c.E}), View<int, 2>(ids, {c.T, c.k}),
                  View<float, 2>(weights, {c.T, c.k}));
    for (std::int64_t t = 0; t < c.T; ++t) {
      std::vector<float> row(z.begin() + t * c.E, z.begin() + (t + 1) * c.E);
      for (std::size_t e = 0; e < routing.bias.size(); ++e) row[e] += routing.bias[e];
      check_row(kind, row, ids.data() + t * c.k, weights.data() + t * c.k, c.k);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Softmax, RouterConformance,
                         ::testing::Combine(::testing::Values("reference", "cpu", "simt"),
                                            ::testing::ValuesIn(kinds())),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" + std::get<1>(test.param).name;
                         });

// The recipes are some of the kinds above; no two models of different rows share one.
TEST(SoftmaxRecipes, EachIsAnotherRouter) {
  const std::vector<float> z = {2, 1, 0, -1}, bias = {0, 0, 1.5f, 0};
  std::vector<std::vector<float>> seen;
  for (const SoftmaxRecipe& r : kSoftmaxRecipes) {
    SoftmaxRouting routing{.experts = 4, .top_k = 2, .order = r.order, .normalize = r.normalize};
    if (r.bias) routing.bias = bias;
    const RoutingPlan plan = SoftmaxTopKRouter(routing).route(View<const float, 2>(z, {1, 4}));
    EXPECT_EQ(plan.ids, r.bias ? (std::vector<int>{0, 2}) : (std::vector<int>{0, 1}));
    seen.push_back(plan.weights);
  }
  EXPECT_EQ(seen[0], seen[2]);  // Mixtral's and Granite's are one function in two orders
  EXPECT_LT(seen[1][0], seen[0][0]);
  EXPECT_NEAR(seen[3][0], 1 / (1 + std::exp(-0.5)), 1e-6);
}

}  // namespace
}  // namespace octavo
