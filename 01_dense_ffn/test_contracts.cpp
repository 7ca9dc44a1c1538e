// The contract of common/testing for every version of this chapter.

#include <gtest/gtest.h>

#include "01_dense_ffn/topics.h"
#include "01_dense_ffn/versions.h"
#include "common/testing/contract.h"

namespace octavo::dense_ffn {
namespace {

using testing::name_of_subject;
using testing::subjects;

// Versions for few rows refuse the shape that the others are checked on most thoroughly, so they
// get their own: a few blocks and a tail, 9 rows, for the product also a round over K and a tail.
template <class Shape, class Args>
std::vector<testing::Subject> decode_subjects(testing::Topic<Shape, Args> topic,
                                              const Shape& smallest) {
  topic.shapes = {smallest};
  topic.smallest = 0;
  std::vector<testing::Subject> all = subjects(topic, registry_of(append_versions));
  std::erase_if(
      all, [](const testing::Subject& s) { return s.label.find("_decode/") == std::string::npos; });
  return all;
}

class MatmulContract : public testing::ContractTest {};
TEST_P(MatmulContract, Holds) { check(); }
INSTANTIATE_TEST_SUITE_P(Matmul, MatmulContract,
                         ::testing::ValuesIn(subjects(matmul_topic(),
                                                      registry_of(append_versions))),
                         name_of_subject);

INSTANTIATE_TEST_SUITE_P(MatmulDecode, MatmulContract,
                         ::testing::ValuesIn(decode_subjects(matmul_topic(), {9, 33, 1064})),
                         name_of_subject);

class FfnContract : public testing::ContractTest {};
TEST_P(FfnContract, Holds) { check(); }
INSTANTIATE_TEST_SUITE_P(Ffn, FfnContract,
                         ::testing::ValuesIn(subjects(ffn_topic(), registry_of(append_versions))),
                         name_of_subject);
INSTANTIATE_TEST_SUITE_P(
    FfnDecode, FfnContract,
    ::testing::ValuesIn(decode_subjects(ffn_topic(), {9, 72, 20, Activation::kSilu, true, true})),
    name_of_subject);

class CastContract : public testing::ContractTest {};
TEST_P(CastContract, Holds) { check(); }
INSTANTIATE_TEST_SUITE_P(Cast, CastContract,
                         ::testing::ValuesIn(subjects(cast_topic(), registry_of(append_versions))),
                         name_of_subject);

}  // namespace
}  // namespace octavo::dense_ffn
