// What no version may be talked into, and batches at length (common/testing/batches.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "03_switch_deepseek_routing/topics.h"
#include "03_switch_deepseek_routing/versions.h"
#include "common/testing/batches.h"
#include "common/testing/refusals.h"

namespace octavo::switch_routing {
namespace {

using testing::batch_breaches;
using ::testing::IsEmpty;
using testing::misuse_breaches;
using testing::refusal_breaches;

const std::vector<Backend> kAll = {Backend::kCpu, Backend::kSimt};

const Registry& registry() {
  static const auto all = registry_of(append_versions);
  return *all;
}

template <class T, int R, class U, int S>
void put_over(View<T, R>& out, View<const U, S> in) {
  out = {reinterpret_cast<T*>(const_cast<U*>(in.data())), out.extents()};
}

TEST(Refusals, ShapesThatAVersionDoesNotSupport) {
  auto gate = grouped_top_k_topic();
  gate.shapes.push_back({3, {.experts = 1025, .top_k = 2}});
  gate.shapes.push_back({3, {.experts = 64, .top_k = 33}});
  gate.shapes.push_back({3, {.experts = 128, .top_k = 4, .groups = 64, .top_groups = 9}});
  gate.shapes.push_back({3, {.experts = 96, .top_k = 4, .groups = 3, .top_groups = 2}});
  EXPECT_THAT(refusal_breaches(gate, registry()), IsEmpty());
  auto dispatch = capacity_dispatch_topic();
  dispatch.shapes.push_back({9, 1025, 2, 3});
  EXPECT_THAT(refusal_breaches(dispatch, registry()), IsEmpty());
}

TEST(Refusals, AnOutputOverAnotherOperand) {
  const auto gate = [](auto spoil) {
    return misuse_breaches(grouped_top_k_topic(), registry(), kAll, deepseek_v3_gate(5), spoil);
  };
  EXPECT_THAT(gate([](GroupedTopKArgs& a) { put_over(a.ids, a.logits); }), IsEmpty());
  EXPECT_THAT(gate([](GroupedTopKArgs& a) { put_over(a.weights, a.bias); }), IsEmpty());
  EXPECT_THAT(gate([](GroupedTopKArgs& a) { put_over(a.weights, View<const int, 2>(a.ids)); }),
              IsEmpty());
  const auto dispatch = [](auto spoil) {
    return misuse_breaches(capacity_dispatch_topic(), registry(), kAll, DispatchShape{9, 4, 2, 3},
                           spoil);
  };
  EXPECT_THAT(dispatch([](CapacityDispatchArgs& a) { put_over(a.kept, a.weights); }), IsEmpty());
  EXPECT_THAT(dispatch([](CapacityDispatchArgs& a) { put_over(a.place, a.ids); }), IsEmpty());
  EXPECT_THAT(
      dispatch([](CapacityDispatchArgs& a) { put_over(a.load, View<const int, 2>(a.place)); }),
      IsEmpty());
}

// 2^16 tokens with 2^15 choices each are 2^31 slots.
TEST(Refusals, SlotsBeyond31Bits) {
  constexpr std::int64_t T = 1 << 16, k = 1 << 15;
  EXPECT_THAT(
      misuse_breaches(capacity_dispatch_topic(), registry(), kAll, DispatchShape{9, 4, 2, 3},
                      [](CapacityDispatchArgs& a) {
                        a.ids = {nullptr, {T, k}};
                        a.weights = {nullptr, {T, k}};
                        a.place = {nullptr, {T, k}};
                        a.kept = {nullptr, {T, k}};
                      }),
      IsEmpty());
  EXPECT_THAT(
      misuse_breaches(grouped_top_k_topic(), registry(), {Backend::kSimt}, deepseek_v3_gate(5),
                      [](GroupedTopKArgs& a) {
                        a.logits = {nullptr, {INT32_MAX, 256}};
                        a.ids = {nullptr, {INT32_MAX, 8}};
                        a.weights = {nullptr, {INT32_MAX, 8}};
                      }),
      IsEmpty());
}

TEST(Batches, EveryBatchHasTheBitsOfItsRows) {
  for (const GateShape& gate : {deepseek_v3_gate(0), deepseek_v2_gate(0)}) {
    EXPECT_THAT(
        batch_breaches(grouped_top_k_topic(), registry(), Backend::kCpu, gate, 40, {1, 2, 5}),
        IsEmpty());
    EXPECT_THAT(batch_breaches(grouped_top_k_topic(), registry(), Backend::kSimt, gate, 16, {1}),
                IsEmpty());
  }
}

}  // namespace
}  // namespace octavo::switch_routing
