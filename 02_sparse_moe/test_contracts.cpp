// The contract of common/testing for every version of this chapter.

#include <gtest/gtest.h>

#include "02_sparse_moe/topics.h"
#include "02_sparse_moe/versions.h"
#include "common/testing/contract.h"

namespace octavo::sparse_moe {
namespace {

using testing::name_of_subject;
using testing::subjects;

class GatingContract : public testing::ContractTest {};
TEST_P(GatingContract, Holds) { check(); }
INSTANTIATE_TEST_SUITE_P(Gating, GatingContract,
                         ::testing::ValuesIn(subjects(gating_topic(),
                                                      registry_of(append_versions))),
                         name_of_subject);

class AlignContract : public testing::ContractTest {};
TEST_P(AlignContract, Holds) { check(); }
INSTANTIATE_TEST_SUITE_P(Align, AlignContract,
                         ::testing::ValuesIn(subjects(align_topic(), registry_of(append_versions))),
                         name_of_subject);

class ExpertsContract : public testing::ContractTest {};
TEST_P(ExpertsContract, Holds) { check(); }
INSTANTIATE_TEST_SUITE_P(Experts, ExpertsContract,
                         ::testing::ValuesIn(subjects(experts_topic(),
                                                      registry_of(append_versions))),
                         name_of_subject);

}  // namespace
}  // namespace octavo::sparse_moe
