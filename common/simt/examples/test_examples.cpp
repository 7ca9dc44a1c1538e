// The example kernels against their references: every shape in one order, one shape that crosses
// every branch in all of them.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "common/base/error.h"
#include "common/base/philox.h"
#include "common/simt/examples/examples.h"
#include "common/simt/executor.h"
#include "common/simt/tests/memory.h"
#include "common/testing/compare.h"

namespace octavo::simt::examples {
namespace {

namespace kernels = OCTAVO_SIMT_TEST_BACKEND;
using memory::Shared;

float random_value(std::uint32_t index, std::uint64_t position) {
  return 2 * uniform(7, index, position, Purpose::kTest) - 1;
}
std::uint16_t to_bf16(float x) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
}

class Examples : public ::testing::Test {
 protected:
  void SetUp() override {
    if (memory::backend::device_present()) return;
    const char* required = std::getenv("OCTAVO_REQUIRE_GPU");
    if (required != nullptr && *required == '1')
      FAIL() << "OCTAVO_REQUIRE_GPU=1, and no CUDA device here";
    GTEST_SKIP() << "no CUDA device here";
  }
};

void check_softmax(int rows, int cols) {
  const auto n = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
  Shared<float> x(n), y(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = 5 * random_value(1, i);
  y.fill(std::numeric_limits<float>::quiet_NaN());
  std::vector<float> want(n);
  softmax_reference(x.data(), want.data(), rows, cols);
  kernels::softmax(x.data(), y.data(), rows, cols);
  memory::backend::synchronize();
  const auto c = octavo::testing::compare(y.data(), want.data(), static_cast<std::int64_t>(n),
                                          {.absolute = 1e-7, .relative = 1e-5});
  EXPECT_TRUE(c) << rows << " x " << cols << ": " << c.message;
}

void check_transpose(Transpose version, int rows, int cols) {
  const auto n = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
  Shared<float> x(n), y(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i + 1);
  y.fill(-1);
  std::vector<float> want(n);
  transpose_reference(x.data(), want.data(), rows, cols);
  kernels::transpose(version, x.data(), y.data(), rows, cols);
  memory::backend::synchronize();
  for (std::size_t i = 0; i < n; ++i)
    ASSERT_EQ(y[i], want[i]) << rows << " x " << cols << " at " << i;
}

void check_scan(int rows, int cols) {
  const auto n = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
  Shared<int> x(n), y(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<int>(100 * random_value(2, i));
  y.fill(-1);
  std::vector<int> want(n);
  scan_reference(x.data(), want.data(), rows, cols);
  kernels::scan(x.data(), y.data(), rows, cols);
  memory::backend::synchronize();
  for (std::size_t i = 0; i < n; ++i)
    ASSERT_EQ(y[i], want[i]) << rows << " x " << cols << " at " << i;
}

void check_matmul(int T, int N, int K) {
  const auto size = [](int a, int b) {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
  };
  Shared<std::uint16_t> x(size(T, K)), w(size(N, K));
  Shared<float> y(size(T, N));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = to_bf16(random_value(3, i));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = to_bf16(random_value(4, i));
  y.fill(std::numeric_limits<float>::quiet_NaN());
  std::vector<float> want(y.size());
  matmul_reference({x.data(), w.data(), want.data(), T, N, K});
  kernels::matmul({x.data(), w.data(), y.data(), T, N, K});
  memory::backend::synchronize();
  // K terms below 1 in size, each rounded once to float.
  const auto c = octavo::testing::compare(
      y.data(), want.data(), static_cast<std::int64_t>(y.size()),
      {.absolute = K * 6e-8 * std::sqrt(K), .relative = 0, .frobenius = 1e-6});
  EXPECT_TRUE(c) << T << " x " << N << " x " << K << ": " << c.message;
}

TEST_F(Examples, SoftmaxForEveryShape) {
  for (int rows : {1, 3, 4, 5}) {
    for (int cols : {1, 31, 32, 33, 100}) check_softmax(rows, cols);
  }
}

TEST_F(Examples, TransposeForEveryShapeAndVersion) {
  for (Transpose version : {Transpose::kNaive, Transpose::kTiled, Transpose::kPadded}) {
    for (int rows : {1, 31, 32, 33, 65}) {
      for (int cols : {1, 32, 45}) check_transpose(version, rows, cols);
    }
  }
}

TEST_F(Examples, ScanForEveryShape) {
  for (int cols : {1, 31, 32, 33, 255, 256, 257, 600}) check_scan(3, cols);
}

TEST_F(Examples, MatmulForEveryShape) {
  for (int T : {1, 63, 64, 65}) {
    for (int N : {1, 64, 70}) {
      for (int K : {8, 64, 72}) check_matmul(T, N, K);
    }
  }
  check_matmul(17, 33, 200);
}

TEST_F(Examples, MatmulRefusesRowsThatAreNotWholePieces) {
  EXPECT_THROW(kernels::matmul({nullptr, nullptr, nullptr, 1, 1, 12}), Error);
}

// On a GPU the order is the hardware's, and this repeats the shapes.
TEST_F(Examples, EveryScheduleGivesTheSameResult) {
  for (Options options : covering_schedules()) {
    for (int workers : {1, 2}) {
      options.workers = workers;
      const ScopedOptions scope(options);
      SCOPED_TRACE(std::string(name_of(options.schedule)) + " " + std::to_string(options.seed));
      check_softmax(5, 70);
      for (Transpose version : {Transpose::kNaive, Transpose::kTiled, Transpose::kPadded}) {
        check_transpose(version, 33, 40);
      }
      check_scan(2, 300);
      check_matmul(70, 66, 136);
    }
  }
}

}  // namespace
}  // namespace octavo::simt::examples
