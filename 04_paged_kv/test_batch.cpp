#include <gtest/gtest.h>

#include <vector>

#include "04_paged_kv/batch.h"
#include "common/base/error.h"

namespace octavo {
namespace {

TEST(Batch, FlattensPartsOfSeveralSequences) {
  const std::vector<int> a = {11, 12, 13}, b = {21};
  const std::vector<std::int32_t> a_blocks = {7, 4}, b_blocks = {9, 2, 5};
  const std::vector<BatchPart> parts = {
      {.tokens = a, .first = 2, .blocks = a_blocks},
      {.tokens = b, .first = 10, .blocks = b_blocks, .wants_logits = true}};
  const Batch batch = make_batch(parts, 4);
  EXPECT_EQ(batch.tokens, (std::vector<int>{11, 12, 13, 21}));
  EXPECT_EQ(batch.positions, (std::vector<std::int64_t>{2, 3, 4, 10}));
  EXPECT_EQ(batch.slot_mapping, (std::vector<std::int64_t>{30, 31, 16, 22}));
  EXPECT_EQ(batch.query_start, (std::vector<std::int64_t>{0, 3, 4}));
  EXPECT_EQ(batch.context_length, (std::vector<std::int64_t>{5, 11}));
  EXPECT_EQ(batch.block_table, (std::vector<std::int32_t>{7, 4, -1, 9, 2, 5}));
  EXPECT_EQ(batch.logit_rows, (std::vector<std::int64_t>{3}));
}

TEST(Batch, APartMustHaveTokensAndFitItsBlocks) {
  const std::vector<int> tokens(3);
  const std::vector<std::int32_t> blocks = {0};
  const auto batch = [&](std::size_t n, std::int64_t first) {
    const BatchPart part{
        .tokens = std::span<const int>(tokens).first(n), .first = first, .blocks = blocks};
    return make_batch({&part, 1}, 4);
  };
  EXPECT_EQ(batch(3, 1).rows(), 3);
  EXPECT_THROW(batch(3, 2), Error);
  EXPECT_THROW(batch(0, 0), Error);
  EXPECT_THROW(batch(1, -1), Error);
}

}  // namespace
}  // namespace octavo
