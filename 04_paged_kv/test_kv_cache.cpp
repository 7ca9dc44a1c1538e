#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "04_paged_kv/kv_cache.h"
#include "common/base/error.h"

namespace octavo {
namespace {

TEST(KvCache, KeepsWhatWasWrittenAndNothingElse) {
  KvCache cache({.layers = 2, .kv_heads = 1, .head_width = 2}, 3, 4);
  EXPECT_EQ(cache.bytes(), 2 * 2 * 3 * 4 * 2 * 4);
  const std::vector<float> k = {1, 2, 3, 4}, v = {5, 6, 7, 8};
  const std::vector<std::int64_t> slots = {11, 0};
  cache.write(1, slots, View<const float, 3>(k, {2, 1, 2}), View<const float, 3>(v, {2, 1, 2}));
  EXPECT_EQ(cache.key(1, 11)(0, 1), 2);
  EXPECT_EQ(cache.key(1, 0)(0, 0), 3);
  EXPECT_EQ(cache.value(1, 11)(0, 0), 5);
  int written = 0;
  for (std::int64_t layer = 0; layer < 2; ++layer) {
    for (std::int64_t slot = 0; slot < 12; ++slot)
      written += !std::isnan(cache.key(layer, slot)(0, 0));
  }
  EXPECT_EQ(written, 2);
}

TEST(KvCache, ALatentCacheStoresOneRowForKeyAndValue) {
  KvCache cache({.layers = 2, .kv_heads = 1, .head_width = 3, .latent = 2}, 1, 4);
  EXPECT_EQ(cache.bytes(), 2 * 4 * 3 * 4);
  EXPECT_EQ(cache.shape().elements_per_token(), 2 * 3);
  const std::vector<float> rows = {1, 2, 3};
  const std::vector<std::int64_t> slots = {2};
  cache.write(1, slots, View<const float, 3>(rows, {1, 1, 3}));
  EXPECT_EQ(cache.key(1, 2)(0, 2), 3);
  EXPECT_EQ(cache.value(1, 2).extent(1), 2);
  EXPECT_EQ(cache.value(1, 2)(0, 1), 2);
  EXPECT_TRUE(std::isnan(cache.key(0, 2)(0, 0)));
  EXPECT_THROW(KvCache({.layers = 1, .kv_heads = 1, .head_width = 3, .latent = 4}, 1, 4), Error);
  EXPECT_THROW(KvCache({.layers = 1, .kv_heads = 2, .head_width = 3, .latent = 2}, 1, 4), Error);
}

TEST(KvCache, NegativeSlotsArePadding) {
  KvCache cache({.layers = 1, .kv_heads = 1, .head_width = 1}, 1, 1);
  const std::vector<float> k = {1}, v = {2};
  const std::vector<std::int64_t> slots = {-1};
  cache.write(0, slots, View<const float, 3>(k, {1, 1, 1}), View<const float, 3>(v, {1, 1, 1}));
  EXPECT_TRUE(std::isnan(cache.key(0, 0)(0, 0)));
}

TEST(KvCache, BadSizesSlotsAndLayersAreRefused) {
  EXPECT_THROW(KvCache({.layers = 1, .kv_heads = 1, .head_width = 1}, 0, 4), Error);
  EXPECT_THROW(KvCache({.layers = 0, .kv_heads = 1, .head_width = 1}, 1, 4), Error);
  EXPECT_THROW(
      KvCache({.layers = 1 << 20, .kv_heads = 1 << 20, .head_width = 1 << 10}, 1 << 20, 1 << 10),
      Error);
  KvCache cache({.layers = 1, .kv_heads = 1, .head_width = 1}, 1, 4);
  const std::vector<float> k = {1};
  const std::vector<std::int64_t> slots = {4}, fine = {3};
  EXPECT_THROW(
      cache.write(0, slots, View<const float, 3>(k, {1, 1, 1}), View<const float, 3>(k, {1, 1, 1})),
      Error);
  EXPECT_THROW(cache.write(0, fine, View<const float, 3>(k, {1, 1, 1})), Error);
  EXPECT_THROW(
      cache.write(1, fine, View<const float, 3>(k, {1, 1, 1}), View<const float, 3>(k, {1, 1, 1})),
      Error);
}

}  // namespace
}  // namespace octavo
