// Batch invariance at length (common/testing/batches.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "02_sparse_moe/topics.h"
#include "02_sparse_moe/versions.h"
#include "common/testing/batches.h"

namespace octavo::sparse_moe {
namespace {

using testing::batch_breaches;
using ::testing::IsEmpty;

const Registry& registry() {
  static const auto all = registry_of(append_versions);
  return *all;
}

TEST(MoeBatches, OnTheHostEveryBatchHasTheBitsOfItsRows) {
  const std::vector<int> threads = {1, 2, 5};
  for (const bool normalize : {true, false}) {
    const GatingShape gate = {0, 60, 4, SoftmaxOrder::kSoftmaxTopK, normalize, true};
    EXPECT_THAT(batch_breaches(gating_topic(), registry(), Backend::kCpu, gate, 40, threads),
                IsEmpty());
  }
  for (const Spread spread : {Spread::kSkew, Spread::kHoles}) {
    const ExpertsShape layer = {0, 2, 5, 36, 140, spread};
    EXPECT_THAT(batch_breaches(experts_topic(), registry(), Backend::kCpu, layer, 40, threads),
                IsEmpty());
  }
}

TEST(MoeBatches, OnTheExecutorToo) {
  EXPECT_THAT(batch_breaches(gating_topic(), registry(), Backend::kSimt, {0, 60, 4}, 16, {1}),
              IsEmpty());
  EXPECT_THAT(batch_breaches(experts_topic(), registry(), Backend::kSimt,
                             {0, 2, 5, 16, 24, Spread::kHoles}, 16, {1}),
              IsEmpty());
}

}  // namespace
}  // namespace octavo::sparse_moe
