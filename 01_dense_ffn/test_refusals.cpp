// What no version may be talked into: shapes it does not support, an output over an input, operands
// of a type that it would misread.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "01_dense_ffn/topics.h"
#include "01_dense_ffn/versions.h"
#include "common/testing/refusals.h"

namespace octavo::dense_ffn {
namespace {

using ::testing::IsEmpty;
using testing::misuse_breaches;
using testing::refusal_breaches;

const std::vector<Backend> kAll = {Backend::kCpu, Backend::kSimt}, kKernels = {Backend::kSimt};
constexpr MatmulShape kProduct = {5, 12, 16};
constexpr FfnShape kLayer = {5, 16, 24};

const Registry& registry() {
  static const auto all = registry_of(append_versions);
  return *all;
}

TensorView as_half(const TensorView& t) {
  return {t.data(), DType::kF16, {t.extent(0), t.extent(1)}};
}

// y from the last element of x on, or all of it.
template <class Args>
void put_over(Args& a, bool all) {
  const std::int64_t bytes = all ? 0 : a.x.bytes() - 4;
  auto* const at = reinterpret_cast<float*>(static_cast<std::byte*>(a.x.data()) + bytes);
  a.y = {at, a.y.extents()};
}

TEST(DenseRefusals, ShapesThatAVersionDoesNotSupport) {
  EXPECT_THAT(refusal_breaches(matmul_topic(), registry()), IsEmpty());
  EXPECT_THAT(refusal_breaches(ffn_topic(), registry()), IsEmpty());
}

TEST(DenseRefusals, AnOutputOverAnInput) {
  for (const bool all : {true, false}) {
    const auto spoil = [all](auto& a) { put_over(a, all); };
    EXPECT_THAT(misuse_breaches(matmul_topic(), registry(), kAll, kProduct, spoil), IsEmpty());
    EXPECT_THAT(misuse_breaches(ffn_topic(), registry(), kAll, kLayer, spoil), IsEmpty());
  }
  EXPECT_THAT(misuse_breaches(cast_topic(), registry(), kKernels, CastShape{9},
                              [](CastArgs& a) {
                                a.y = {const_cast<float*>(a.x.data()), DType::kBF16, {9}};
                              }),
              IsEmpty());
}

TEST(DenseRefusals, ActivationsOfAnotherType) {
  EXPECT_THAT(misuse_breaches(matmul_topic(), registry(), kAll, kProduct,
                              [](MatmulArgs& a) { a.x = as_half(a.x); }),
              IsEmpty());
  EXPECT_THAT(misuse_breaches(ffn_topic(), registry(), kAll, kLayer,
                              [](FfnArgs& a) { a.x = as_half(a.x); }),
              IsEmpty());
  EXPECT_THAT(misuse_breaches(cast_topic(), registry(), kKernels, CastShape{9},
                              [](CastArgs& a) {
                                a.y = {a.y.data(), DType::kF16, {9}};
                              }),
              IsEmpty());
}

// The versions of the host look at the extents alone: their weights were prepared.
TEST(DenseRefusals, WeightsOfAnotherType) {
  EXPECT_THAT(misuse_breaches(matmul_topic(), registry(), kKernels, kProduct,
                              [](MatmulArgs& a) { a.w = as_half(a.w); }),
              IsEmpty());
  for (TensorView FfnWeights::*matrix : {&FfnWeights::gate, &FfnWeights::up, &FfnWeights::down}) {
    EXPECT_THAT(
        misuse_breaches(ffn_topic(), registry(), kKernels, kLayer,
                        [&](FfnArgs& a) { a.weights.*matrix = as_half(a.weights.*matrix); }),
        IsEmpty());
  }
}

// Extents that 32 bits do not hold, or not with a tile behind them.
TEST(DenseRefusals, ExtentsBeyond31Bits) {
  constexpr std::int64_t kMany = INT32_MAX;
  const auto product = [](std::int64_t T, std::int64_t N, std::int64_t K) {
    return [=](MatmulArgs& a) {
      a.x = {nullptr, a.x.dtype(), {T, K}};
      a.w = {nullptr, a.w.dtype(), {N, K}};
      a.y = {nullptr, {T, N}};
    };
  };
  for (const auto& spoil : {product(kMany, 1, 1), product(1, kMany, 1), product(1, 1, kMany)}) {
    EXPECT_THAT(misuse_breaches(matmul_topic(), registry(), kKernels, kProduct, spoil), IsEmpty());
  }
}

}  // namespace
}  // namespace octavo::dense_ffn
