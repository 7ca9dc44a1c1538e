#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "04_paged_kv/attention.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/testing/random.h"

namespace octavo {
namespace {

constexpr std::int64_t H = 4, Hkv = 2, Dh = 6, kLength = 23;

// One sequence of kLength positions whose blocks are `blocks`, everything written; queries for
// positions first .. end.
class AttentionTest : public ::testing::Test {
 protected:
  std::vector<float> attend(const std::vector<std::int32_t>& blocks, std::int64_t block_size,
                            std::int64_t first, int threads = 1) const {
    const std::vector<int> tokens(kLength);
    KvCache cache({.layers = 1, .kv_heads = Hkv, .head_width = Dh}, 64, block_size);
    const BatchPart whole{.tokens = tokens, .first = 0, .blocks = blocks};
    cache.write(0, make_batch({&whole, 1}, block_size).slot_mapping,
                View<const float, 3>(key_, {kLength, Hkv, Dh}),
                View<const float, 3>(value_, {kLength, Hkv, Dh}));
    const BatchPart part{
        .tokens = std::span<const int>(tokens).subspan(static_cast<std::size_t>(first)),
        .first = first,
        .blocks = blocks};
    const std::int64_t T = kLength - first;
    std::vector<float> out(static_cast<std::size_t>(T * H * Dh));
    ThreadPool pool(threads);
    Exec exec(cpu_device(), DType::kF32, pool, 0);
    ReferenceAttention().attend(exec, 0, make_batch({&part, 1}, block_size), cache,
                                View<const float, 3>(query_, {kLength, H, Dh}).rows(first, kLength),
                                View<float, 3>(out, {T, H, Dh}));
    return out;
  }

  std::vector<float> query_ = testing::normal(kLength * H * Dh, 1);
  std::vector<float> key_ = testing::normal(kLength * Hkv * Dh, 2);
  std::vector<float> value_ = testing::normal(kLength * Hkv * Dh, 3);
};

TEST_F(AttentionTest, MatchesTheFormulaWrittenOutForOneRow) {
  const std::vector<float> out = attend({0}, kLength, 0);
  constexpr std::int64_t t = 9, h = 2, g = 1;  // query heads 2 and 3 share KV head 1
  double sum = 0, want[Dh] = {};
  for (std::int64_t p = 0; p <= t; ++p) {
    double score = 0;
    for (std::int64_t d = 0; d < Dh; ++d) {
      score += static_cast<double>(query_[static_cast<std::size_t>((t * H + h) * Dh + d)]) *
               static_cast<double>(key_[static_cast<std::size_t>((p * Hkv + g) * Dh + d)]);
    }
    const double weight = std::exp(score / std::sqrt(static_cast<double>(Dh)));
    sum += weight;
    for (std::int64_t d = 0; d < Dh; ++d)
      want[d] +=
          weight * static_cast<double>(value_[static_cast<std::size_t>((p * Hkv + g) * Dh + d)]);
  }
  for (std::int64_t d = 0; d < Dh; ++d)
    EXPECT_NEAR(out[static_cast<std::size_t>((t * H + h) * Dh + d)], want[d] / sum, 1e-6);
}

TEST_F(AttentionTest, TheFirstPositionReturnsItsOwnValue) {
  const std::vector<float> out = attend({0}, kLength, 0);
  for (std::int64_t h = 0; h < H; ++h) {
    for (std::int64_t d = 0; d < Dh; ++d) {
      EXPECT_FLOAT_EQ(out[static_cast<std::size_t>(h * Dh + d)],
                      value_[static_cast<std::size_t>((h / 2) * Dh + d)]);
    }
  }
}

TEST_F(AttentionTest, WhereTheBlocksLieChangesNoBit) {
  const std::vector<float> contiguous = attend({0}, kLength, 0);
  EXPECT_EQ(attend({5, 1, 9, 0, 3, 7}, 4, 0), contiguous);
  std::vector<std::int32_t> single(kLength);
  std::iota(single.rbegin(), single.rend(), 17);
  EXPECT_EQ(attend(single, 1, 0), contiguous);
  EXPECT_EQ(attend({5, 1, 9, 0, 3, 7}, 4, 0, 2), contiguous);
}

TEST_F(AttentionTest, ALaterChunkSeesTheSameAsTheWhole) {
  const std::vector<float> whole = attend({2, 0}, 16, 0), chunk = attend({2, 0}, 16, 13);
  EXPECT_EQ(chunk, std::vector<float>(whole.begin() + 13 * H * Dh, whole.end()));
}

TEST(Attention, HeadsMustBeAMultipleOfKvHeads) {
  KvCache cache({.layers = 1, .kv_heads = 2, .head_width = 1}, 1, 1);
  ThreadPool pool(1);
  Exec exec(cpu_device(), DType::kF32, pool, 0);
  std::vector<float> q(3), out(3);
  EXPECT_THROW(ReferenceAttention().attend(exec, 0, {}, cache, View<const float, 3>(q, {1, 3, 1}),
                                           View<float, 3>(out, {1, 3, 1})),
               Error);
}

}  // namespace
}  // namespace octavo
