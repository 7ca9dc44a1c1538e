// What no version may be talked into: shapes it does not support, an output over an input, operands
// of a type that it would misread.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "02_sparse_moe/topics.h"
#include "02_sparse_moe/versions.h"
#include "common/testing/refusals.h"

namespace octavo::sparse_moe {
namespace {

using ::testing::IsEmpty;
using testing::misuse_breaches;
using testing::put_over;
using testing::refusal_breaches;

const std::vector<Backend> kAll = {Backend::kCpu, Backend::kSimt}, kKernels = {Backend::kSimt};
constexpr GatingShape kGate = {5, 8, 2, SoftmaxOrder::kSoftmaxTopK, true, true};
constexpr AlignShape kSort = {5, 2, 8};
constexpr ExpertsShape kLayer = {5, 2, 4, 16, 24};

const Registry& registry() {
  static const auto all = registry_of(append_versions);
  return *all;
}

TensorView as_half(const TensorView& t) {
  return {t.data(), DType::kF16, t.extents().data(), t.rank()};
}

TEST(MoeRefusals, ShapesThatAVersionDoesNotSupport) {
  auto gating = gating_topic();
  gating.shapes.push_back({3, 1025, 2});
  gating.shapes.push_back({2, 2000, 40, SoftmaxOrder::kSoftmaxTopK, false});
  EXPECT_THAT(refusal_breaches(gating, registry()), IsEmpty());
  auto align = align_topic();
  align.shapes.push_back({5, 2, 1100});
  align.shapes.push_back({1, 1, 70000});
  EXPECT_THAT(refusal_breaches(align, registry()), IsEmpty());
  EXPECT_THAT(refusal_breaches(experts_topic(), registry()), IsEmpty());
}

TEST(MoeRefusals, AnOutputOverAnotherOperand) {
  const auto gate = [](auto spoil) {
    return misuse_breaches(gating_topic(), registry(), kAll, kGate, spoil);
  };
  EXPECT_THAT(gate([](GatingArgs& a) { put_over(a.ids, a.logits); }), IsEmpty());
  EXPECT_THAT(gate([](GatingArgs& a) { put_over(a.weights, a.logits); }), IsEmpty());
  EXPECT_THAT(gate([](GatingArgs& a) { put_over(a.weights, a.bias); }), IsEmpty());
  EXPECT_THAT(gate([](GatingArgs& a) { put_over(a.ids, View<const float, 2>(a.weights)); }),
              IsEmpty());
  const auto sort = [](auto spoil) {
    return misuse_breaches(align_topic(), registry(), kAll, kSort, spoil);
  };
  EXPECT_THAT(sort([](AlignArgs& a) { put_over(a.order, a.ids); }), IsEmpty());
  EXPECT_THAT(sort([](AlignArgs& a) { put_over(a.offsets, a.ids); }), IsEmpty());
  EXPECT_THAT(sort([](AlignArgs& a) { put_over(a.offsets, View<const int, 1>(a.order)); }),
              IsEmpty());
  const auto layer = [](auto spoil) {
    return misuse_breaches(experts_topic(), registry(), kAll, kLayer, spoil);
  };
  EXPECT_THAT(layer([](ExpertsArgs& a) {
                a.y = {static_cast<float*>(a.x.data()), a.y.extents()};
              }),
              IsEmpty());
  EXPECT_THAT(layer([](ExpertsArgs& a) { put_over(a.y, a.weight); }), IsEmpty());
  EXPECT_THAT(layer([](ExpertsArgs& a) { put_over(a.y, a.order); }), IsEmpty());
}

TEST(MoeRefusals, OperandsOfAnotherType) {
  EXPECT_THAT(misuse_breaches(experts_topic(), registry(), kAll, kLayer,
                              [](ExpertsArgs& a) { a.x = as_half(a.x); }),
              IsEmpty());
  EXPECT_THAT(misuse_breaches(experts_topic(), registry(), kKernels, kLayer,
                              [](ExpertsArgs& a) {
                                a.weights.gate = as_half(a.weights.gate);
                                a.weights.up = as_half(a.weights.up);
                                a.weights.down = as_half(a.weights.down);
                              }),
              IsEmpty());
}

}  // namespace
}  // namespace octavo::sparse_moe
