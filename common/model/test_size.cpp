#include "common/model/size.h"

#include <gtest/gtest.h>

namespace octavo::model {
namespace {

ModelSize published(const std::string& name) {
  return size_of(load_config(std::filesystem::path(OCTAVO_SOURCE_DIR) / "common/model/configs" /
                             (name + ".json")));
}

// V 128256, D 8192, L 80, H 64, Hkv 8, Dh 128, F 28672: a layer's attention is 2 D^2 + 2 D 1024,
// its FFN 3 D F.
TEST(Size, Llama3With70B) {
  const ModelSize s = published("llama-3-70b");
  EXPECT_EQ(s.parameters.embedding, 1'050'673'152);
  EXPECT_EQ(s.parameters.head, 1'050'673'152);
  EXPECT_EQ(s.parameters.attention, 12'079'595'520);
  EXPECT_EQ(s.parameters.dense_ffn, 56'371'445'760);
  EXPECT_EQ(s.parameters.norms, 1'318'912);
  EXPECT_EQ(s.parameters.total(), 70'553'706'496);
  EXPECT_EQ(s.active.total(), s.parameters.total());
  EXPECT_EQ(s.weight_bytes, 141'107'412'992);
  EXPECT_EQ(s.kv_bytes_per_token, 320 * 1024);
  EXPECT_EQ(s.mtp, 0);
}

// An expert is 3 * 4096 * 14336 = 176,160,768; 46.7 B in all, 12.9 B for a token; 128 KiB of cache
// a token.
TEST(Size, Mixtral8x7B) {
  const ModelSize s = published("mixtral-8x7b");
  EXPECT_EQ(s.parameters.routed_experts, std::int64_t{32} * 8 * 176'160'768);
  EXPECT_EQ(s.active.routed_experts, std::int64_t{32} * 2 * 176'160'768);
  EXPECT_EQ(s.parameters.router, 32 * 4096 * 8);
  EXPECT_EQ(s.parameters.total(), 46'702'792'704);
  EXPECT_EQ(s.active.total(), 12'879'925'248);
  EXPECT_EQ(s.weight_bytes, 93'405'585'408);
  EXPECT_EQ(s.kv_bytes_per_token, 128 * 1024);
  EXPECT_EQ(s.kv_bytes_full_context, std::int64_t{4} << 30);
}

// Attention of a layer: q 7168*1536 + 1536*128*192, kv 7168*576 + 512*128*256, o 128*128*7168 =
// 187,105,280. An expert is 3*7168*2048 = 44,040,192. The model's own count is 671 B and 37 B a
// token (36.6 B without the embedding).
TEST(Size, DeepseekV3) {
  const ModelSize s = published("deepseek-v3");
  EXPECT_EQ(s.parameters.attention, std::int64_t{61} * 187'105'280);
  EXPECT_EQ(s.parameters.dense_ffn, std::int64_t{3} * 396'361'728);
  EXPECT_EQ(s.parameters.routed_experts, std::int64_t{58} * 256 * 44'040'192);
  EXPECT_EQ(s.parameters.shared_experts, std::int64_t{58} * 44'040'192);
  EXPECT_EQ(s.parameters.router, 58 * (7168 * 256 + 256));
  EXPECT_EQ(s.parameters.norms, 61 * (2 * 7168 + 1536 + 512) + 7168);
  EXPECT_EQ(s.parameters.total(), 671'026'419'200);
  EXPECT_EQ(s.active.total(), 37'552'297'472);
  EXPECT_NEAR(static_cast<double>(s.active.total() - s.active.embedding), 36.6e9, 0.05e9);
  EXPECT_EQ(s.mtp, 187'105'280 + std::int64_t{257} * 44'040'192 + 7168 * 256 + 256 +
                       (2 * 7168 + 1536 + 512) + 2 * 7168 * 7168 + 3 * 7168);
  EXPECT_NEAR(static_cast<double>(s.mtp), 11.6e9, 0.05e9);
  EXPECT_EQ(s.kv_bytes_per_token, 61 * (512 + 64) * 2);
}

TEST(Size, TiedEmbeddingsCountOnceAndUncompressedQueriesHaveOneMatrix) {
  ModelConfig c;
  c.vocab = 10;
  c.width = 4;
  c.layers = 1;
  c.heads = 2;
  c.kv_heads = 2;
  c.ffn_width = 6;
  c.tied_embeddings = true;
  c.max_context = 100;
  c.dtype = DType::kF32;
  c.mla = MlaConfig{.q_rank = 0, .kv_rank = 3, .nope = 2, .rope = 2, .v = 5};
  const ModelSize s = size_of(c);
  EXPECT_EQ(s.parameters.head, 0);
  EXPECT_EQ(s.parameters.embedding, 40);
  EXPECT_EQ(s.parameters.attention, 4 * 8 + 4 * 5 + 3 * 2 * 7 + 2 * 5 * 4);
  EXPECT_EQ(s.parameters.norms, 2 * 4 + 3 + 4);
  EXPECT_EQ(s.kv_bytes_per_token, 5 * 4);
  EXPECT_EQ(kv_bytes_per_token(c, DType::kBF16), 5 * 2);
  EXPECT_EQ(s.kv_bytes_full_context, 2000);
  EXPECT_EQ(s.weight_bytes, 4 * s.parameters.total());
}

}  // namespace
}  // namespace octavo::model
