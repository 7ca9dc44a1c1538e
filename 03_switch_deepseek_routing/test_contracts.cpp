// The contract of common/testing for every version of this chapter.

#include <gtest/gtest.h>

#include "03_switch_deepseek_routing/topics.h"
#include "03_switch_deepseek_routing/versions.h"
#include "common/testing/contract.h"

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

}  // namespace
}  // namespace octavo::switch_routing
