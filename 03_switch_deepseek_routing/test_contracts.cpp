// The contract of common/testing for every version of this chapter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "03_switch_deepseek_routing/topics.h"
#include "03_switch_deepseek_routing/versions.h"
#include "common/testing/refusals.h"

namespace octavo::switch_routing {
namespace {

using testing::name_of_subject;
using testing::subjects;

class GroupedTopKContract : public testing::ContractTest {};
TEST_P(GroupedTopKContract, Holds) { check(); }
INSTANTIATE_TEST_SUITE_P(GroupedTopK, GroupedTopKContract,
                         ::testing::ValuesIn(subjects(grouped_top_k_topic(),
                                                      registry_of(append_versions))),
                         name_of_subject);

class CapacityDispatchContract : public testing::ContractTest {};
TEST_P(CapacityDispatchContract, Holds) { check(); }
INSTANTIATE_TEST_SUITE_P(CapacityDispatch, CapacityDispatchContract,
                         ::testing::ValuesIn(subjects(capacity_dispatch_topic(),
                                                      registry_of(append_versions))),
                         name_of_subject);

// At the edges of what the kernels say they take, and beyond: what a version takes, it does.
template <class Shape, class Args>
void expect_limit(const testing::Topic<Shape, Args>& topic, const Shape& shape, int kernels) {
  EXPECT_THAT(testing::limit_breaches(topic, registry_of(append_versions), shape, kernels),
              ::testing::IsEmpty());
}

TEST(Limits, OfGroupedTopK) {
  const auto gate = [](std::int64_t E, std::int64_t k, std::int64_t groups, std::int64_t top) {
    return GateShape{3, {.experts = E, .top_k = k, .groups = groups, .top_groups = top}};
  };
  expect_limit(grouped_top_k_topic(), gate(1024, 32, 32, 31), 2);  // a lane a choice, and a group
  expect_limit(grouped_top_k_topic(), gate(1024, 33, 1, 1), 0);
  expect_limit(grouped_top_k_topic(), gate(1056, 32, 1, 1), 0);  // a lane marks 32 experts
  expect_limit(grouped_top_k_topic(), gate(1024, 32, 64, 63), 0);
  expect_limit(grouped_top_k_topic(), gate(96, 4, 3, 2), 1);  // v2's groups are whole lanes
  expect_limit(grouped_top_k_topic(), gate(48, 4, 4, 2), 1);
}

// The host's gate has a row of 1024 scores on its stack.
TEST(Limits, OfTheGateOnTheHost) {
  const auto registry = registry_of(append_versions);
  const auto& v =
      registry->find<GroupedTopKArgs>("grouped_top_k", Backend::kCpu, "cpu_v1_insertion");
  const auto takes = [&](std::int64_t E) {
    return v.takes({.routing = {.experts = E, .top_k = E}}, cpu_device(), DType::kF32);
  };
  EXPECT_TRUE(takes(1024));
  EXPECT_FALSE(takes(1025));
}

TEST(Limits, OfCapacityDispatch) { expect_limit(capacity_dispatch_topic(), {3, 1024, 2, 1}, 2); }

}  // namespace
}  // namespace octavo::switch_routing
