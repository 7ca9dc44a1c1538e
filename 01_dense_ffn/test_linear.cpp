#include <gtest/gtest.h>

#include <vector>

#include "01_dense_ffn/linear.h"
#include "01_dense_ffn/versions.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/testing/compare.h"
#include "common/testing/random.h"

namespace octavo {
namespace {

template <class T>
TensorView matrix(const std::vector<T>& w, std::int64_t N, std::int64_t K) {
  return TensorView(View<const T, 2>(w.data(), {N, K}));
}

class LinearTest : public ::testing::Test {
 protected:
  ThreadPool threads_{2};
  Exec exec_{cpu_device(), DType::kF32, threads_, 0};
};

TEST_F(LinearTest, HandComputed) {
  const std::vector<float> x = {1, 2, 3, -1, 0, 2}, w = {1, 1, 1, 0, -1, 2};
  std::vector<float> y(4);
  matmul_reference(exec_, View<const float, 2>(x, {2, 3}), matrix(w, 2, 3),
                   View<float, 2>(y, {2, 2}));
  EXPECT_EQ(y, (std::vector<float>{6, 4, 1, 4}));
}

// The three storage types hold these weights exactly, so the products are the same bits.
TEST_F(LinearTest, StorageTypesAgreeOnWeightsTheyAllHold) {
  const std::vector<float> x = testing::normal(3 * 5, 0);
  std::vector<float> w(7 * 5);
  for (std::size_t i = 0; i < w.size(); ++i)
    w[i] = static_cast<float>(static_cast<int>(i % 9) - 4) * 0.25f;
  const std::vector<bf16> w_bf16(w.begin(), w.end());
  const std::vector<half> w_half(w.begin(), w.end());
  std::vector<float> a(21), b(21), c(21);
  const View<const float, 2> xv(x, {3, 5});
  matmul_reference(exec_, xv, matrix(w, 7, 5), View<float, 2>(a, {3, 7}));
  matmul_reference(exec_, xv, matrix(w_bf16, 7, 5), View<float, 2>(b, {3, 7}));
  matmul_reference(exec_, xv, matrix(w_half, 7, 5), View<float, 2>(c, {3, 7}));
  EXPECT_EQ(a, b);
  EXPECT_EQ(a, c);
}

TEST_F(LinearTest, ARowOfABatchIsTheRowAloneBitForBitOnAnyNumberOfThreads) {
  constexpr std::int64_t T = 9, K = 33, N = 130;
  const std::vector<float> x = testing::normal(T * K, 1), w = testing::normal(N * K, 2);
  const auto linear = ReferenceLinearFactory().make(matrix(w, N, K));
  std::vector<float> all(T * N), one(N);
  linear->forward(exec_, View<const float, 2>(x, {T, K}), View<float, 2>(all, {T, N}));
  ThreadPool single(1);
  Exec alone(cpu_device(), DType::kF32, single, 0);
  for (std::int64_t t = 0; t < T; ++t) {
    linear->forward(alone, View<const float, 2>(x, {T, K}).rows(t, t + 1),
                    View<float, 2>(one, {1, N}));
    ASSERT_EQ(one, std::vector<float>(all.begin() + t * N, all.begin() + (t + 1) * N)) << t;
  }
}

TEST_F(LinearTest, NoRows) {
  const std::vector<float> w(6, 1.0f);
  std::vector<float> y;
  matmul_reference(exec_, View<const float, 2>(nullptr, {0, 3}), matrix(w, 2, 3),
                   View<float, 2>(y, {0, 2}));
}

TEST_F(LinearTest, WrongShapesAreRefused) {
  const std::vector<float> x(6), w(6);
  std::vector<float> y(4);
  const auto product = [&](std::int64_t K, std::int64_t rows) {
    matmul_reference(exec_, View<const float, 2>(x, {2, 3}), matrix(w, 2, K),
                     View<float, 2>(y.data(), {rows, 2}));
  };
  EXPECT_THROW(product(2, 2), Error);
  EXPECT_THROW(product(3, 1), Error);
  EXPECT_NO_THROW(product(3, 2));
  EXPECT_THROW(ReferenceLinearFactory().make(matrix(w, 0, 3)), Error);
}

// Fewer rows may take more scratch; a decoder asks once, for its largest batch.
TEST(VersionLinear, TheWorkspaceOfABatchIsEnoughForEachSmallerOne) {
  const auto registry = registry_of(dense_ffn::append_versions);
  ThreadPool threads(1);
  const std::vector<float> w = testing::normal(256 * 192, 1), x = testing::normal(20 * 192, 2);
  for (const Backend backend : {Backend::kCpu, Backend::kSimt}) {
    for (const DType compute : {DType::kF32, DType::kBF16}) {
      const VersionLinearFactory factory(registry, device_of(backend), compute);
      const auto linear = factory.make(matrix(w, 128, 192));
      const auto ffn = factory.make_ffn(
          {.up = matrix(w, 256, 192), .down = TensorView(View<const float, 2>(w, {192, 256}))});
      for (const std::int64_t most : {1, 13, 20}) {
        Exec exec(device_of(backend), compute, threads,
                  std::max(linear->workspace(most), ffn->workspace(most)));
        for (std::int64_t T = 0; T <= most; ++T) {
          std::vector<float> y(static_cast<std::size_t>(T * 192));
          const View<const float, 2> rows(x.data(), {T, 192});
          EXPECT_NO_THROW(linear->forward(exec, rows, View<float, 2>(y.data(), {T, 128}))) << T;
          EXPECT_NO_THROW(ffn->forward(exec, rows, View<float, 2>(y.data(), {T, 192}))) << T;
        }
      }
    }
  }
}

// A batch in which the type of the weights is not the Exec's: a model may mix them.
TEST(VersionLinear, FollowsTheTypeOfItsWeights) {
  const auto registry = registry_of(dense_ffn::append_versions);
  ThreadPool threads(1);
  std::vector<float> w(16 * 8);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(static_cast<int>(i % 9) - 4);
  const std::vector<bf16> stored(w.begin(), w.end());
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const Backend backend : {Backend::kCpu, Backend::kSimt}) {
    const VersionLinearFactory factory(registry, device_of(backend));
    Exec exec(device_of(backend), DType::kF32, threads, 1 << 16);
    std::vector<float> a(16), b(16);
    factory.make(matrix(w, 16, 8))
        ->forward(exec, View<const float, 2>(x, {1, 8}), View<float, 2>(a, {1, 16}));
    factory.make(matrix(stored, 16, 8))
        ->forward(exec, View<const float, 2>(x, {1, 8}), View<float, 2>(b, {1, 16}));
    EXPECT_EQ(a, b) << name_of(backend);
  }
}

TEST(MatmulWork, CountsTheLeast) {
  const Work work = matmul_work(1, 4096, 4096, 2);
  EXPECT_EQ(work.flops, 2.0 * 4096 * 4096);
  EXPECT_EQ(work.bytes, 2.0 * 4096 * 4096 + 4 * (4096 + 4096));
}

}  // namespace
}  // namespace octavo
