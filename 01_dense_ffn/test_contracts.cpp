// The contract of common/testing for every version of this chapter.

#include <gtest/gtest.h>

#include "01_dense_ffn/topics.h"
#include "01_dense_ffn/versions.h"
#include "common/testing/contract.h"

namespace octavo::dense_ffn {
namespace {

using testing::name_of_subject;
using testing::subjects;

std::shared_ptr<const Registry> registry() {
  auto r = std::make_shared<Registry>();
  append_versions(*r);
  return r;
}

class MatmulContract : public testing::ContractTest {};
TEST_P(MatmulContract, Holds) { check(); }
INSTANTIATE_TEST_SUITE_P(Matmul, MatmulContract,
                         ::testing::ValuesIn(subjects(matmul_topic(), registry())),
                         name_of_subject);

class CastContract : public testing::ContractTest {};
TEST_P(CastContract, Holds) { check(); }
INSTANTIATE_TEST_SUITE_P(Cast, CastContract,
                         ::testing::ValuesIn(subjects(cast_topic(), registry())), name_of_subject);

}  // namespace
}  // namespace octavo::dense_ffn
