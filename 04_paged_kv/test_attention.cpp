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
constexpr double kScale = 0.3;  // none that a width gives

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
    const Batch batch = make_batch({&part, 1}, block_size);
    ReferenceAttention().attend(
        exec,
        {.batch = batch,
         .cache = cache,
         .query = View<const float, 3>(query_, {kLength, H, Dh}).rows(first, kLength),
         .scale = kScale},
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
    const double weight = std::exp(score * kScale);
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

// A latent row is key and, by its first elements, value.
TEST(Attention, ALatentCacheServesValuesFromItsKeys) {
  constexpr std::int64_t width = 5, latent = 3, T = 2;
  KvCache cache({.layers = 1, .kv_heads = 1, .head_width = width, .latent = latent}, 1, T);
  KvCache plain({.layers = 1, .kv_heads = 1, .head_width = width}, 1, T);
  const std::vector<float> rows = testing::normal(T * width, 1), q = testing::normal(T * width, 2);
  const std::vector<int> tokens(T);
  const std::int32_t block = 0;
  const BatchPart part{.tokens = tokens, .blocks = {&block, 1}};
  const Batch batch = make_batch({&part, 1}, T);
  const View<const float, 3> keys(rows, {T, 1, width});
  cache.write(0, batch.slot_mapping, keys);
  plain.write(0, batch.slot_mapping, keys, keys);
  ThreadPool pool(1);
  Exec exec(cpu_device(), DType::kF32, pool, 0);
  std::vector<float> out(T * latent), wide(T * width);
  const View<const float, 3> query(q, {T, 1, width});
  ReferenceAttention().attend(exec,
                              {.batch = batch, .cache = cache, .query = query, .scale = kScale},
                              View<float, 3>(out, {T, 1, latent}));
  ReferenceAttention().attend(exec,
                              {.batch = batch, .cache = plain, .query = query, .scale = kScale},
                              View<float, 3>(wide, {T, 1, width}));
  for (std::size_t t = 0; t < T; ++t) {
    for (std::size_t d = 0; d < latent; ++d) EXPECT_EQ(out[t * latent + d], wide[t * width + d]);
  }
}

TEST(Attention, ShapesThatDoNotFitAreRefused) {
  KvCache cache({.layers = 1, .kv_heads = 2, .head_width = 2}, 1, 1);
  ThreadPool pool(1);
  Exec exec(cpu_device(), DType::kF32, pool, 0);
  std::vector<float> q(8), out(8);
  const auto attend = [&](std::int64_t heads, std::int64_t width, std::int64_t value) {
    const Batch none;
    ReferenceAttention().attend(exec,
                                {.batch = none,
                                 .cache = cache,
                                 .query = View<const float, 3>(q.data(), {1, heads, width}),
                                 .scale = 1},
                                View<float, 3>(out.data(), {1, heads, value}));
  };
  EXPECT_NO_THROW(attend(4, 2, 2));
  EXPECT_THROW(attend(3, 2, 2), Error);  // 3 query heads over 2 KV heads
  EXPECT_THROW(attend(2, 1, 2), Error);
  EXPECT_THROW(attend(2, 2, 1), Error);
}

}  // namespace
}  // namespace octavo
