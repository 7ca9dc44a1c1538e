// Batch invariance at length (common/testing/batches.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "01_dense_ffn/topics.h"
#include "01_dense_ffn/versions.h"
#include "common/testing/batches.h"

namespace octavo::dense_ffn {
namespace {

using testing::batch_breaches;
using ::testing::IsEmpty;

const Registry& registry() {
  static const auto all = registry_of(append_versions);
  return *all;
}

TEST(DenseBatches, OnTheHostEveryBatchHasTheBitsOfItsRows) {
  const std::vector<int> threads = {1, 2, 5};
  EXPECT_THAT(batch_breaches(matmul_topic(), registry(), Backend::kCpu, {0, 140, 270}, 40, threads),
              IsEmpty());
  EXPECT_THAT(batch_breaches(ffn_topic(), registry(), Backend::kCpu,
                             {0, 36, 150, Activation::kSilu, true, true}, 40, threads),
              IsEmpty());
}

TEST(DenseBatches, OnTheExecutorToo) {
  EXPECT_THAT(batch_breaches(matmul_topic(), registry(), Backend::kSimt, {0, 18, 40}, 16, {1}),
              IsEmpty());
  EXPECT_THAT(batch_breaches(ffn_topic(), registry(), Backend::kSimt, {0, 16, 24}, 16, {1}),
              IsEmpty());
}

}  // namespace
}  // namespace octavo::dense_ffn
