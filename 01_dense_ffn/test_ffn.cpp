#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "01_dense_ffn/ffn.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/testing/random.h"

namespace octavo {
namespace {

std::unique_ptr<Linear> linear(const std::vector<float>& w, std::int64_t N, std::int64_t K) {
  return ReferenceLinearFactory().make(TensorView(View<const float, 2>(w.data(), {N, K})));
}

TEST(Silu, AtTheEdges) {
  EXPECT_EQ(silu_reference(0.0f), 0.0f);
  EXPECT_NEAR(silu_reference(1.0f), 0.7310585786, 1e-7);
  EXPECT_NEAR(silu_reference(-1.0f), -0.2689414214, 1e-7);
  EXPECT_FLOAT_EQ(silu_reference(1e-8f), 5e-9f);
  EXPECT_FLOAT_EQ(silu_reference(20.0f), 20.0f);
  EXPECT_FLOAT_EQ(silu_reference(100.0f), 100.0f);
  EXPECT_NEAR(silu_reference(-100.0f), 0.0, 1e-40);
  EXPECT_EQ(silu_reference(std::numeric_limits<float>::infinity()),
            std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(silu_reference(-std::numeric_limits<float>::infinity())));
  EXPECT_TRUE(std::isnan(silu_reference(std::numeric_limits<float>::quiet_NaN())));
}

// D = 1, F = 2: y = silu(2x) * x * 1 + silu(-x) * 3x * 0.5.
TEST(SwiGlu, HandComputed) {
  const std::vector<float> gate = {2, -1}, up = {1, 3}, down = {1, 0.5f};
  const SwiGlu ffn(linear(gate, 2, 1), linear(up, 2, 1), linear(down, 1, 2));
  ThreadPool threads(1);
  Exec exec(cpu_device(), DType::kF32, threads, 0);
  const std::vector<float> x = {1.5f};
  std::vector<float> y(1);
  ffn.forward(exec, View<const float, 2>(x, {1, 1}), View<float, 2>(y, {1, 1}));
  const double want = 3 / (1 + std::exp(-3.0)) * 1.5 + (-1.5 / (1 + std::exp(1.5))) * 4.5 * 0.5;
  EXPECT_NEAR(y[0], want, 1e-6);
}

TEST(SwiGlu, ARowDoesNotDependOnTheBatch) {
  constexpr std::int64_t T = 5, D = 8, F = 12;
  const std::vector<float> gate = testing::normal(F * D, 1), up = testing::normal(F * D, 2),
                           down = testing::normal(D * F, 3);
  const std::vector<float> x = testing::normal(T * D, 4);
  const SwiGlu ffn(linear(gate, F, D), linear(up, F, D), linear(down, D, F));
  ThreadPool threads(2);
  Exec exec(cpu_device(), DType::kF32, threads, 0);
  std::vector<float> all(T * D), one(D);
  ffn.forward(exec, View<const float, 2>(x, {T, D}), View<float, 2>(all, {T, D}));
  for (std::int64_t t = 0; t < T; ++t) {
    ffn.forward(exec, View<const float, 2>(x, {T, D}).rows(t, t + 1), View<float, 2>(one, {1, D}));
    EXPECT_EQ(one, std::vector<float>(all.begin() + t * D, all.begin() + (t + 1) * D));
  }
}

TEST(SwiGlu, MatricesThatDoNotFitAreRefused) {
  const std::vector<float> w(64);
  EXPECT_THROW(SwiGlu(linear(w, 4, 2), linear(w, 5, 2), linear(w, 2, 4)), Error);
  EXPECT_THROW(SwiGlu(linear(w, 4, 2), linear(w, 4, 2), linear(w, 2, 5)), Error);
  EXPECT_THROW(SwiGlu(linear(w, 4, 2), linear(w, 4, 2), linear(w, 3, 4)), Error);
}

}  // namespace
}  // namespace octavo
