#include <gtest/gtest.h>

#include <limits>

#include "03_switch_deepseek_routing/deepseek_routing.h"
#include "03_switch_deepseek_routing/shared_experts.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/testing/random.h"

namespace octavo {
namespace {

constexpr std::int64_t D = 8, F = 6, E = 8, k = 3, kShared = 2;

// One DeepSeek-shaped layer, its parts kept so that they can be run by themselves.
class SharedExpertTest : public ::testing::Test {
 protected:
  SharedExpertTest() {
    for (std::uint32_t i = 0; i < 3 * E; ++i) weights_.push_back(testing::normal(F * D, i, 0.5));
    for (std::uint32_t i = 0; i < 3; ++i) {
      weights_.push_back(testing::normal(kShared * F * D, 100 + i, 0.5));
    }
    gate_ = testing::normal(E * D, 200, 1.0);
    bias_ = testing::normal(E, 201, 0.2);
    for (float& b : bias_) b -= 1;
  }

  static TensorView matrix(const std::vector<float>& w, std::int64_t N, std::int64_t K) {
    return TensorView(View<const float, 2>(w.data(), {N, K}));
  }
  std::unique_ptr<FeedForward> swiglu(std::size_t first, std::int64_t width) const {
    return ReferenceLinearFactory().make_ffn({.gate = matrix(weights_[first], width, D),
                                              .up = matrix(weights_[first + 1], width, D),
                                              .down = matrix(weights_[first + 2], D, width)});
  }
  std::unique_ptr<DeepseekRouter> router() const {
    return std::make_unique<DeepseekRouter>(
        DeepseekRouting{.experts = E, .top_k = k, .groups = 4, .top_groups = 2, .scaling = 2.5},
        bias_);
  }
  std::unique_ptr<MoeLayer> routed() const {
    std::vector<std::unique_ptr<FeedForward>> experts;
    for (std::size_t e = 0; e < E; ++e) experts.push_back(swiglu(3 * e, F));
    return std::make_unique<MoeLayer>(ReferenceLinearFactory().make(matrix(gate_, E, D)), router(),
                                      std::make_unique<SeparateExperts>(std::move(experts)));
  }
  std::vector<float> run(const FeedForward& layer, const std::vector<float>& x) {
    const auto T = static_cast<std::int64_t>(x.size()) / D;
    std::vector<float> y(x.size(), std::numeric_limits<float>::quiet_NaN());
    layer.forward(exec_, View<const float, 2>(x, {T, D}), View<float, 2>(y, {T, D}));
    return y;
  }

  std::vector<std::vector<float>> weights_;
  std::vector<float> gate_, bias_;
  ThreadPool threads_{2};
  Exec exec_{cpu_device(), DType::kF32, threads_, 1 << 20};
};

// Equation 12 from its parts: the plan's experts by themselves, weighted, and the shared part as it
// is.
TEST_F(SharedExpertTest, IsTheWeightedRoutedSumAndTheSharedExpertUnweighted) {
  constexpr std::int64_t T = 9;
  const std::vector<float> x = testing::normal(T * D, 5);
  std::vector<float> logits(T * E);
  matmul_reference(exec_, View<const float, 2>(x, {T, D}), matrix(gate_, E, D),
                   View<float, 2>(logits, {T, E}));
  const RoutingPlan plan = router()->route(View<const float, 2>(logits, {T, E}));
  const SharedExpertLayer layer(routed(), swiglu(3 * E, kShared * F));
  const std::vector<float> y = run(layer, x), shared = run(*swiglu(3 * E, kShared * F), x);
  for (std::int64_t t = 0; t < T; ++t) {
    const std::vector<float> row(x.begin() + t * D, x.begin() + (t + 1) * D);
    std::vector<double> want(shared.begin() + t * D, shared.begin() + (t + 1) * D);
    for (std::int64_t j = 0; j < k; ++j) {
      const std::vector<float> out =
          run(*swiglu(3 * static_cast<std::size_t>(plan.id()(t, j)), F), row);
      for (std::size_t d = 0; d < D; ++d) {
        want[d] += static_cast<double>(plan.weight()(t, j)) * static_cast<double>(out[d]);
      }
    }
    for (std::size_t d = 0; d < D; ++d) {
      EXPECT_NEAR(y[static_cast<std::size_t>(t * D) + d], want[d], 1e-5) << t;
    }
  }
}

TEST_F(SharedExpertTest, ARowOfABatchIsTheRowAloneAndANanStaysInIts) {
  constexpr std::int64_t T = 7;
  const SharedExpertLayer layer(routed(), swiglu(3 * E, kShared * F));
  std::vector<float> x = testing::normal(T * D, 6);
  const std::vector<float> all = run(layer, x);
  for (std::int64_t t = 0; t < T; ++t) {
    const std::vector<float> row(x.begin() + t * D, x.begin() + (t + 1) * D);
    EXPECT_EQ(run(layer, row), std::vector<float>(all.begin() + t * D, all.begin() + (t + 1) * D));
  }
  x[2 * D] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> dirty = run(layer, x);
  EXPECT_TRUE(std::equal(all.begin(), all.begin() + 2 * D, dirty.begin()));
  EXPECT_TRUE(std::equal(all.begin() + 3 * D, all.end(), dirty.begin() + 3 * D));
}

// Needs so many bytes for a row.
class Needy : public FeedForward {
 public:
  explicit Needy(std::int64_t bytes) : bytes_(bytes) {}
  std::int64_t workspace(std::int64_t T) const override { return bytes_ * T; }
  void forward(Exec&, View<const float, 2>, View<float, 2>) const override {}

 private:
  std::int64_t bytes_;
};

TEST(SharedExperts, OnePartAfterTheOtherTakesTheWorkspace) {
  const auto bytes = [](std::int64_t routed, std::int64_t shared) {
    return SharedExpertLayer(std::make_unique<Needy>(routed), std::make_unique<Needy>(shared))
        .workspace(5);
  };
  EXPECT_EQ(bytes(3, 2), 15);
  EXPECT_EQ(bytes(2, 3), 15);
}

TEST_F(SharedExpertTest, BothPartsAreWanted) {
  EXPECT_THROW(SharedExpertLayer(routed(), nullptr), Error);
  EXPECT_THROW(SharedExpertLayer(nullptr, swiglu(0, F)), Error);
}

}  // namespace
}  // namespace octavo
