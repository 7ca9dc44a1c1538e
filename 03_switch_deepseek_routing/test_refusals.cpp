// What no version may be talked into, and batches at length (common/testing/batches.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "03_switch_deepseek_routing/topics.h"
#include "03_switch_deepseek_routing/versions.h"
#include "common/base/error.h"
#include "common/testing/batches.h"
#include "common/testing/refusals.h"

namespace octavo::switch_routing {
namespace {

using testing::batch_breaches;
using ::testing::IsEmpty;
using testing::misuse_breaches;
using testing::put_over;
using testing::refusal_breaches;

const std::vector<Backend> kAll = {Backend::kCpu, Backend::kSimt};

const Registry& registry() {
  static const auto all = registry_of(append_versions);
  return *all;
}

TEST(RouterRefusals, ShapesThatAVersionDoesNotSupport) {
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

TEST(RouterRefusals, AnOutputOverAnotherOperand) {
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

TEST(RouterRefusals, ExtentsThatDoNotFit) {
  const auto gate = [](auto spoil) {
    return misuse_breaches(grouped_top_k_topic(), registry(), kAll, deepseek_v3_gate(5), spoil);
  };
  const auto choices = [](GroupedTopKArgs& a, std::int64_t T, std::int64_t k) {
    a.ids = {a.ids.data(), {T, k}};
    a.weights = {a.weights.data(), {T, k}};
  };
  EXPECT_THAT(gate([](auto& a) { a.logits = {a.logits.data(), {5, 255}}; }), IsEmpty());
  EXPECT_THAT(gate([](auto& a) { a.bias = {a.bias.data(), {255}}; }), IsEmpty());
  EXPECT_THAT(gate([](auto& a) { a.weights = {a.weights.data(), {5, 7}}; }), IsEmpty());
  EXPECT_THAT(gate([](auto& a) { a.routing.top_groups = 9; }), IsEmpty());
  EXPECT_THAT(gate([&](auto& a) { choices(a, 4, 8); }), IsEmpty());
  EXPECT_THAT(gate([&](auto& a) { choices(a, 5, 7); }), IsEmpty());
  const auto dispatch = [](auto spoil) {
    return misuse_breaches(capacity_dispatch_topic(), registry(), kAll, DispatchShape{9, 4, 2, 3},
                           spoil);
  };
  EXPECT_THAT(dispatch([](auto& a) { a.weights = {a.weights.data(), {6, 3}}; }), IsEmpty());
  EXPECT_THAT(dispatch([](auto& a) { a.place = {a.place.data(), {6, 3}}; }), IsEmpty());
  EXPECT_THAT(dispatch([](auto& a) { a.kept = {a.kept.data(), {6, 3}}; }), IsEmpty());
  EXPECT_THAT(dispatch([](auto& a) { a.load = {a.load.data(), {0}}; }), IsEmpty());
  EXPECT_THAT(dispatch([](auto& a) { a.capacity = -1; }), IsEmpty());
}

// A capacity is shared by the whole batch, and the engine picks what is batch-invariant only.
TEST(RouterRefusals, ACapacityInTheEngine) {
  const CapacityDispatchArgs shape{.load = {nullptr, {8}}};
  for (const Device& device : {cpu_device(), simt_device()}) {
    EXPECT_THROW(
        registry().pick<CapacityDispatchArgs>("capacity_dispatch", shape, device, DType::kF32),
        Error);
  }
}

// 2^16 tokens with 2^15 choices each are 2^31 slots.
TEST(RouterRefusals, SlotsBeyond31Bits) {
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

TEST(RouterBatches, EveryBatchHasTheBitsOfItsRows) {
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
