#include <gtest/gtest.h>

#include <cmath>

#include "03_switch_deepseek_routing/balancing.h"
#include "common/base/error.h"

namespace octavo::switch_routing {
namespace {

LabSettings settings(GateScore score, double alpha, float gamma, bool shifted = false,
                     std::uint64_t seed = 1) {
  return {.score = score,
          .alpha = alpha,
          .gamma = gamma,
          .shifted = shifted,
          .seed = seed,
          .tokens = 256};
}

TEST(BalancingLab, Measures) {
  EXPECT_NEAR(effective_experts({5, 5, 5, 5}), 4, 1e-12);
  EXPECT_NEAR(effective_experts({20, 0, 0, 0}), 1, 1e-12);
  EXPECT_NEAR(max_violation({5, 5, 5, 5}), 0, 1e-12);
  EXPECT_NEAR(max_violation({20, 0, 0, 0}), 3, 1e-12);
}

// Central differences of the loss. The choices do not change with a step this small, and a hidden
// unit that crosses 0 on the way is one in thousands.
TEST(BalancingLab, GradientsAreTheSlopesOfTheLoss) {
  for (LabSettings s : {settings(GateScore::kSoftmax, 0, 0), settings(GateScore::kSoftmax, 0.5, 0),
                        settings(GateScore::kSigmoid, 0, 0)}) {
    s.tokens = 24;
    LabModel model(s);
    const LabBatch batch = lab_batch(s, 0);
    std::vector<double> gradient;
    const double loss = model.run(batch, &gradient).loss;
    EXPECT_EQ(model.run(batch, nullptr).loss, loss);
    double largest = 0;
    for (std::size_t i = 0; i < model.parameters.size(); i += i < 128 ? 1 : 37) {
      constexpr double h = 1e-4;
      const double before = model.parameters[i];
      model.parameters[i] = before + h;
      const double up = model.run(batch, nullptr).loss;
      model.parameters[i] = before - h;
      const double down = model.run(batch, nullptr).loss;
      model.parameters[i] = before;
      EXPECT_NEAR(gradient[i], (up - down) / (2 * h), 2e-5) << "parameter " << i;
      largest = std::max(largest, std::abs(gradient[i]));
    }
    EXPECT_GT(largest, 2e-3);  // else the tolerance would say nothing
  }
}

class BalancingLabOfSeed : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  static LabResult run(GateScore score, double alpha, float gamma, bool shifted = false) {
    LabResult result = train_lab(settings(score, alpha, gamma, shifted, GetParam()));
    EXPECT_TRUE(result.finite);  // a run that diverged says nothing about balance
    return result;
  }
};

TEST_P(BalancingLabOfSeed, ALossOrABiasEvensTheLoad) {
  const LabResult none = run(GateScore::kSoftmax, 0, 0), loss = run(GateScore::kSoftmax, 0.1, 0),
                  slow = run(GateScore::kSigmoid, 0, 1e-3f),
                  fast = run(GateScore::kSigmoid, 0, 1e-2f);
  EXPECT_LT(none.effective_experts, loss.effective_experts - 0.5);
  EXPECT_LT(none.effective_experts, slow.effective_experts - 0.5);
  EXPECT_LT(slow.max_vio_global, 0.1);
  EXPECT_LT(slow.max_vio_global, loss.max_vio_global);
  // A large step evens the load on average and overshoots in every batch.
  EXPECT_GT(fast.max_vio_batch, slow.max_vio_batch);
}

TEST_P(BalancingLabOfSeed, WithoutEitherARouterCollapses) {
  const LabResult none = run(GateScore::kSoftmax, 0, 0, true),
                  loss = run(GateScore::kSoftmax, 0.1, 0, true),
                  bias = run(GateScore::kSigmoid, 0, 1e-2f, true);
  EXPECT_LT(none.effective_experts, 2);  // of 8: one or two are in use
  EXPECT_GT(none.share[0] + none.share[1], 0.9);
  EXPECT_GT(loss.effective_experts, 5);
  EXPECT_GT(bias.effective_experts, 7.5);
  EXPECT_LT(bias.mse, none.mse);
}

// The FLOPs of a token are the same but for the router's.
TEST_P(BalancingLabOfSeed, OneOfEightExpertsLearnsMoreThanOneForAll) {
  LabSettings dense = settings(GateScore::kSigmoid, 0, 0, false, GetParam());
  dense.experts = 1;
  const LabResult one = train_lab(dense), eight = run(GateScore::kSigmoid, 0, 1e-3f);
  EXPECT_EQ(one.share[0], 1);
  EXPECT_LT(eight.mse, 0.8 * one.mse);
}

INSTANTIATE_TEST_SUITE_P(Seeds, BalancingLabOfSeed, ::testing::Values(1, 2, 3));

TEST(BalancingLab, TheLossIsOfProbabilities) {
  EXPECT_THROW(LabModel(settings(GateScore::kSigmoid, 0.1, 0)), Error);
}

TEST(BalancingLab, TokensChooseAmongTheExpertsThereAre) {
  for (std::int64_t experts : {std::int64_t{0}, kLabExperts + 1}) {
    LabSettings s = settings(GateScore::kSigmoid, 0, 0);
    s.experts = experts;
    EXPECT_THROW(LabModel{s}, Error);
  }
}

TEST(Balancing, ALoadThatIsNoneIsRefused) {
  for (const std::vector<std::int64_t>& bad : {std::vector<std::int64_t>{}, {3, -1}}) {
    EXPECT_THROW(effective_experts(bad), Error);
    EXPECT_THROW(max_violation(bad), Error);
  }
  EXPECT_EQ(max_violation({INT64_MAX, INT64_MAX}), 0);  // whose sum overflows
}

}  // namespace
}  // namespace octavo::switch_routing
