// The contract of common/testing for every version of this chapter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "02_sparse_moe/topics.h"
#include "02_sparse_moe/versions.h"
#include "common/testing/refusals.h"

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

// At the edges of what the kernels say they take, and beyond: what a version takes, it does. All
// experts are chosen, so that none may be lost.
template <class Shape, class Args>
void expect_limit(const testing::Topic<Shape, Args>& topic, const Shape& shape, int kernels) {
  EXPECT_THAT(testing::limit_breaches(topic, registry_of(append_versions), shape, kernels),
              ::testing::IsEmpty());
}

TEST(Limits, OfGating) {
  expect_limit(gating_topic(), {1, 1024, 1024}, 2);  // a lane marks 32
  expect_limit(gating_topic(), {1, 1025, 1025}, 0);
}

TEST(Limits, OfAlign) {
  expect_limit(align_topic(), {3, 256, 256}, 2);  // v1's histograms fill the shared memory
  expect_limit(align_topic(), {3, 512, 512}, 1);
  expect_limit(align_topic(), {3, 1024, 1024}, 1);  // v2 has a thread for each
  expect_limit(align_topic(), {3, 1025, 1025}, 0);
}

}  // namespace
}  // namespace octavo::sparse_moe
