#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "01_dense_ffn/ffn_math.h"
#include "01_dense_ffn/linear.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/testing/random.h"

namespace octavo {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TensorView matrix(const std::vector<float>& w, std::int64_t N, std::int64_t K) {
  return TensorView(View<const float, 2>(w.data(), {N, K}));
}

struct Known {
  Activation activation;
  double z, want;
};

// Values to ten digits from the formulas; NaN where infinity meets zero.
const Known kKnown[] = {
    {Activation::kSilu, 0, 0},
    {Activation::kSilu, 1, 0.7310585786},
    {Activation::kSilu, -1, -0.2689414214},
    {Activation::kSilu, 1e-8, 5e-9},
    {Activation::kSilu, -1e-8, -5e-9},
    {Activation::kSilu, 20, 19.99999995878},
    {Activation::kSilu, -20, -4.1223072e-8},
    {Activation::kSilu, 100, 100},
    {Activation::kSilu, -100, 0},
    {Activation::kSilu, kInf, kInf},
    {Activation::kSilu, -kInf, kNaN},
    {Activation::kSilu, kNaN, kNaN},
    {Activation::kGeluErf, 0, 0},
    {Activation::kGeluErf, 1, 0.8413447461},
    {Activation::kGeluErf, -1, -0.1586552539},
    {Activation::kGeluErf, 1e-8, 5e-9},
    {Activation::kGeluErf, 20, 20},
    {Activation::kGeluErf, -20, 0},
    {Activation::kGeluErf, -100, 0},
    {Activation::kGeluErf, kInf, kInf},
    {Activation::kGeluErf, -kInf, kNaN},
    {Activation::kGeluErf, kNaN, kNaN},
    {Activation::kGeluTanh, 1, 0.8411919906},
    {Activation::kGeluTanh, -1, -0.1588080094},
    {Activation::kGeluTanh, 100, 100},
    {Activation::kGeluTanh, -100, 0},
    {Activation::kGeluTanh, -kInf, kNaN},
    {Activation::kRelu, -1, 0},
    {Activation::kRelu, 2.5, 2.5},
    {Activation::kRelu, -kInf, 0},
    {Activation::kRelu, kInf, kInf},
    {Activation::kRelu, kNaN, kNaN},
};

void expect_known(const Known& k, double got) {
  if (std::isnan(k.want)) {
    EXPECT_TRUE(std::isnan(got)) << name_of(k.activation) << " of " << k.z << " is " << got;
  } else if (std::isinf(k.want)) {
    EXPECT_EQ(got, k.want) << name_of(k.activation) << " of " << k.z;
  } else {
    EXPECT_NEAR(got, k.want, 1e-8 + 2e-7 * std::fabs(k.want))
        << name_of(k.activation) << " of " << k.z;
  }
}

TEST(Activations, OfTheReferenceAtTheEdges) {
  for (const Known& k : kKnown) expect_known(k, activation_reference(k.activation, k.z));
}

TEST(Activations, OfTheKernelsAtTheEdges) {
  for (const Known& k : kKnown)
    expect_known(k, static_cast<double>(activate(k.activation, static_cast<float>(k.z))));
}

TEST(Activations, TheTwoGelusAreNotOne) {
  double most = 0;
  for (double z = -6; z < 6; z += 1e-3) {
    most = std::max(most, std::fabs(activation_reference(Activation::kGeluErf, z) -
                                    activation_reference(Activation::kGeluTanh, z)));
  }
  EXPECT_GT(most, 4e-4);
  EXPECT_LT(most, 5e-4);
}

struct FfnTest : ::testing::Test {
  ThreadPool threads{2};
  Exec exec{cpu_device(), DType::kF32, threads, 0};

  std::vector<float> forward(const FfnWeights& w, const std::vector<float>& x) {
    const std::int64_t T = static_cast<std::int64_t>(x.size()) / w.width();
    std::vector<float> y(x.size());
    ffn_reference(exec, View<const float, 2>(x, {T, w.width()}), w,
                  View<float, 2>(y, {T, w.width()}));
    return y;
  }
};

// D = 1, F = 2: y = silu(2x) * x * 1 + silu(-x) * 3x * 0.5.
TEST_F(FfnTest, SwiGluByHand) {
  const std::vector<float> gate = {2, -1}, up = {1, 3}, down = {1, 0.5f};
  const double want = 3 / (1 + std::exp(-3.0)) * 1.5 + (-1.5 / (1 + std::exp(1.5))) * 4.5 * 0.5;
  const auto y = forward(
      {.gate = matrix(gate, 2, 1), .up = matrix(up, 2, 1), .down = matrix(down, 1, 2)}, {1.5f});
  EXPECT_NEAR(y[0], want, 1e-6);
}

// H = relu([2x - 1, -x]), y = H0 + 3 H1 + 10.
TEST_F(FfnTest, PlainWithBiasesByHand) {
  const std::vector<float> up = {2, -1}, down = {1, 3}, up_bias = {-1, 0}, down_bias = {10};
  const FfnWeights w{.activation = Activation::kRelu,
                     .up = matrix(up, 2, 1),
                     .down = matrix(down, 1, 2),
                     .up_bias = View<const float, 1>(up_bias, {2}),
                     .down_bias = View<const float, 1>(down_bias, {1})};
  EXPECT_EQ(forward(w, {2, -3}), (std::vector<float>{13, 19}));
}

TEST_F(FfnTest, AConcatenatedMatrixIsGateThenUp) {
  constexpr std::int64_t D = 3, F = 4;
  const std::vector<float> gate_up = testing::normal(2 * F * D, 1),
                           down = testing::normal(D * F, 2);
  const std::vector<float> gate(gate_up.begin(), gate_up.begin() + F * D),
      up(gate_up.begin() + F * D, gate_up.end()), x = testing::normal(2 * D, 3);
  FfnWeights joined{.down = matrix(down, D, F)};
  set_concatenated(joined, matrix(gate_up, 2 * F, D));
  EXPECT_EQ(
      forward(joined, x),
      forward({.gate = matrix(gate, F, D), .up = matrix(up, F, D), .down = matrix(down, D, F)}, x));
  EXPECT_THROW(set_concatenated(joined, matrix(gate, 1, F * D)), Error);
}

TEST_F(FfnTest, ARowDoesNotDependOnTheBatch) {
  constexpr std::int64_t T = 5, D = 8, F = 12;
  const std::vector<float> gate = testing::normal(F * D, 1), up = testing::normal(F * D, 2),
                           down = testing::normal(D * F, 3), x = testing::normal(T * D, 4);
  const FfnWeights w{
      .gate = matrix(gate, F, D), .up = matrix(up, F, D), .down = matrix(down, D, F)};
  const std::vector<float> all = forward(w, x);
  for (std::int64_t t = 0; t < T; ++t) {
    EXPECT_EQ(forward(w, {x.begin() + t * D, x.begin() + (t + 1) * D}),
              std::vector<float>(all.begin() + t * D, all.begin() + (t + 1) * D));
  }
}

TEST(FfnWeights, ThatDoNotFitAreRefused) {
  const std::vector<float> w(64);
  const auto refused = [&](std::int64_t gate, std::int64_t up, std::int64_t down_in,
                           std::int64_t down_out, std::int64_t bias) {
    const FfnWeights weights{.gate = matrix(w, gate, 2),
                             .up = matrix(w, up, 2),
                             .down = matrix(w, down_out, down_in),
                             .up_bias = View<const float, 1>(w.data(), {bias})};
    EXPECT_THROW(ReferenceLinearFactory().make_ffn(weights), Error);
  };
  refused(4, 5, 4, 2, 0);
  refused(4, 4, 5, 2, 0);
  refused(4, 4, 4, 3, 0);
  refused(4, 4, 4, 2, 3);
}

}  // namespace
}  // namespace octavo
