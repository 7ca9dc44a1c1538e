#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

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

// Adam (algorithm 1 of the paper), the bias, and what is reported of the last fifth of the steps.
TEST(BalancingLab, TrainsAndReportsByTheDefinitions) {
  for (LabSettings s :
       {settings(GateScore::kSoftmax, 0.1, 0), settings(GateScore::kSigmoid, 0, 0.02f)}) {
    s.tokens = 32;
    s.steps = 40;
    LabModel model(s);
    std::vector<double> g, m(model.parameters.size()), v(model.parameters.size());
    std::vector<std::int64_t> all[2] = {std::vector<std::int64_t>(8), std::vector<std::int64_t>(8)};
    std::vector<std::int64_t> last(8);
    double mse = 0, violation = 0;
    for (int i = 0; i < 40; ++i) {
      const LabModel::Step step = model.run(lab_batch(s, i), &g);
      for (std::size_t p = 0; p < g.size(); ++p) {
        m[p] = 0.9 * m[p] + 0.1 * g[p];
        v[p] = 0.999 * v[p] + 0.001 * g[p] * g[p];
        const double m_hat = m[p] / (1 - std::pow(0.9, i + 1)),
                     v_hat = v[p] / (1 - std::pow(0.999, i + 1));
        model.parameters[p] -= 0.003 * m_hat / (std::sqrt(v_hat) + 1e-8);
      }
      for (std::size_t e = 0; e < 8; ++e) {  // the mean load is 4
        all[i / 20][e] += step.load[e];
        if (step.load[e] != 4) model.bias[e] += step.load[e] < 4 ? s.gamma : -s.gamma;
        if (i >= 32) last[e] += step.load[e];
      }
      if (i >= 32) mse += step.mse / 8;
      if (i >= 32) violation += max_violation(step.load) / 8;
    }
    const LabResult result = train_lab(s);
    EXPECT_TRUE(result.finite);
    EXPECT_NEAR(result.mse, mse, 1e-9);
    EXPECT_NEAR(result.max_vio_batch, violation, 1e-9);
    EXPECT_NEAR(result.max_vio_global, max_violation(last), 1e-9);
    EXPECT_NEAR(result.effective_experts, effective_experts(last), 1e-9);
    EXPECT_EQ(result.share[0], static_cast<double>(*std::ranges::max_element(last)) / (8 * 32));
    EXPECT_TRUE(std::ranges::is_sorted(result.share, std::greater<>()));
    EXPECT_EQ(result.history,
              (std::vector<double>{effective_experts(all[0]), effective_experts(all[1])}));
  }
}

// The last fifth of few steps is the last one.
TEST(BalancingLab, OneStepIsATraining) {
  LabSettings s = settings(GateScore::kSoftmax, 0, 0);
  s.steps = 1;
  EXPECT_EQ(train_lab(s).mse, LabModel(s).run(lab_batch(s, 0), nullptr).mse);
}

TEST(BalancingLab, ADivergedRunSaysSoAndStops) {
  LabSettings s = settings(GateScore::kSoftmax, 1e308, 0);
  s.steps = 40;
  const LabResult result = train_lab(s);
  EXPECT_FALSE(result.finite);
  EXPECT_TRUE(result.history.empty());
}

// A softmax is of differences, so that scores have a loss however large they are.
TEST(BalancingLab, LargeScoresAreNoFault) {
  const LabSettings s = settings(GateScore::kSoftmax, 0.1, 0);
  LabModel model(s);
  for (std::size_t i = 0; i < kLabExperts * kLabWidth; ++i) model.parameters[i] *= 1e5;
  EXPECT_TRUE(std::isfinite(model.run(lab_batch(s, 0), nullptr).loss));
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
  LabSettings s = settings(GateScore::kSigmoid, 0, 0);
  s.tokens = 0;
  EXPECT_THROW(LabModel{s}, Error);
  s.tokens = 1;
  s.steps = 0;
  EXPECT_THROW(LabModel{s}, Error);
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
