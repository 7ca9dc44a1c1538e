// The packed product in every instruction set of this build, bit for bit against its order of
// summation written as plain loops.

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "01_dense_ffn/packed_matrix.h"
#include "common/base/threads.h"
#include "common/testing/random.h"

namespace octavo::dense_ffn {
namespace {

template <class W>
std::vector<W> weights_of(std::int64_t N, std::int64_t K) {
  const std::vector<float> values = testing::normal(N * K, 7);
  return {values.begin(), values.end()};
}

template <class W>
TensorView view_of(const std::vector<W>& w, std::int64_t N, std::int64_t K) {
  return TensorView(View<const W, 2>(w.data(), {N, K}));
}

// The order that packed_matrix.h promises.
template <class W>
float promised_sum(const float* x, const W* w, std::int64_t K) {
  float y = 0;
  for (std::int64_t k0 = 0; k0 < K; k0 += kBlockK) {
    float sum = 0;
    for (std::int64_t k = k0; k < std::min(K, k0 + kBlockK); ++k) {
      sum = std::fma(x[k], static_cast<float>(w[k]), sum);
    }
    y = k0 == 0 ? sum : y + sum;
  }
  return y;
}

struct PackedShape {
  std::int64_t T, N, K;
};

// Every row count up to the largest tile and the steps behind it; tails of panels, strips, blocks.
std::vector<PackedShape> packed_shapes() {
  std::vector<PackedShape> shapes = {{1, 1, 1},       {1, 300, 257},  {17, 129, 256},
                                     {40, 63, 513},   {120, 17, 40},  {247, 20, 300},
                                     {128, 400, 513}, {13, 140, 255}, {2, 128, 1024}};
  for (std::int64_t T = 2; T <= 16; ++T) shapes.push_back({T, 128 + 9 * T, 200 + 20 * T});
  return shapes;
}

template <class S, class W>
void expect_promised_bits(const PackedShape& s) {
  const std::vector<W> w = weights_of<W>(s.N, s.K);
  const std::vector<float> x = testing::normal(s.T * s.K, 8);
  const PackedMatrix<S> packed(view_of(w, s.N, s.K));
  std::vector<float> y(static_cast<std::size_t>(s.T * s.N + 1), -1.0f);  // and a guard
  packed.product(View<const float, 2>(x.data(), {s.T, s.K}), View<float, 2>(y.data(), {s.T, s.N}),
                 {0, packed.strips()});
  EXPECT_EQ(y.back(), -1.0f);
  for (std::int64_t i = 0; i < s.T * s.N; ++i) {
    const float want = promised_sum(x.data() + i / s.N * s.K, w.data() + i % s.N * s.K, s.K);
    ASSERT_EQ(y[static_cast<std::size_t>(i)], want) << "T " << s.T << " N " << s.N << " K " << s.K
                                                    << " row " << i / s.N << " output " << i % s.N;
  }
}

template <class S>
struct PackedIn : ::testing::Test {};

#if defined(__AVX512F__) && defined(__AVX2__) && defined(__FMA__)
using InstructionSets = ::testing::Types<simd::Portable, simd::Avx2, simd::Avx512>;
#elif defined(__AVX2__) && defined(__FMA__)
using InstructionSets = ::testing::Types<simd::Portable, simd::Avx2>;
#else
using InstructionSets = ::testing::Types<simd::Portable>;
#endif
TYPED_TEST_SUITE(PackedIn, InstructionSets);

TYPED_TEST(PackedIn, SumsInThePromisedOrder) {
  for (const PackedShape& s : packed_shapes()) {
    expect_promised_bits<TypeParam, float>(s);
    expect_promised_bits<TypeParam, bf16>(s);
  }
}

// Zeros fill the last panel: an infinity times one of them must not reach an output.
TYPED_TEST(PackedIn, PaddingDoesNotLeak) {
  constexpr std::int64_t T = 5, N = 19, K = 3;
  std::vector<float> x(T * K, std::numeric_limits<float>::infinity()), y(T * N);
  const std::vector<float> w(N * K, 1.0f);
  PackedMatrix<TypeParam>(view_of(w, N, K))
      .product(View<const float, 2>(x, {T, K}), View<float, 2>(y, {T, N}), {0, 1});
  for (float v : y) EXPECT_EQ(v, x[0]);
}

TYPED_TEST(PackedIn, AStripLeavesTheOthersAlone) {
  constexpr std::int64_t T = 3, N = 2 * kStrip + 5, K = 4;
  const std::vector<float> w(N * K, 1.0f), x(T * K, 1.0f);
  std::vector<float> y(T * N, -1.0f);
  const PackedMatrix<TypeParam> packed(view_of(w, N, K));
  packed.product(View<const float, 2>(x, {T, K}), View<float, 2>(y, {T, N}), {1, 2});
  for (std::int64_t i = 0; i < T * N; ++i) {
    const std::int64_t strip = i % N / kStrip;
    EXPECT_EQ(y[static_cast<std::size_t>(i)], strip == 1 ? 4.0f : -1.0f) << i;
  }
}

TYPED_TEST(PackedIn, NoRows) {
  const std::vector<float> w(6, 1.0f);
  PackedMatrix<TypeParam>(view_of(w, 2, 3))
      .product(View<const float, 2>(nullptr, {0, 3}), View<float, 2>(nullptr, {0, 2}), {0, 1});
}

TEST(PackedMatrix, RefusesWhatItCannotHold) {
  const std::vector<half> halves(6);
  EXPECT_THROW(PackedMatrix<>(view_of(halves, 2, 3)), Error);
  const std::vector<float> w(6);
  EXPECT_THROW(PackedMatrix<>(view_of(w, 0, 3)), Error);
  const PackedMatrix<> packed(view_of(w, 2, 3));
  std::vector<float> y(4);
  const auto product = [&](std::int64_t inputs, std::int64_t outputs) {
    packed.product(View<const float, 2>(w.data(), {2, inputs}),
                   View<float, 2>(y.data(), {2, outputs}), {0, 1});
  };
  EXPECT_NO_THROW(product(3, 2));
  EXPECT_THROW(product(2, 2), Error);
  EXPECT_THROW(product(3, 1), Error);
}

TEST(ForEachTile, CoversRowsAndStripsOnce) {
  for (int size : {1, 2, 5}) {
    ThreadPool threads(size);
    for (std::int64_t T : {0, 1, 16, 17, 120, 121, 500}) {
      for (std::int64_t strips : {1, 7, 90}) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(T * strips));
        for_each_tile(threads, T, strips, [&](Range rows, Range some) {
          EXPECT_GT(rows.size() * some.size(), 0);
          for (std::int64_t t = rows.begin; t < rows.end; ++t) {
            for (std::int64_t s = some.begin; s < some.end; ++s) {
              seen[static_cast<std::size_t>(t * strips + s)]++;
            }
          }
        });
        for (const auto& s : seen) ASSERT_EQ(s.load(), 1) << T << " rows, " << strips << " strips";
      }
    }
  }
}

}  // namespace
}  // namespace octavo::dense_ffn
