#include "01_dense_ffn/cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "01_dense_ffn/ffn.h"
#include "common/base/error.h"
#include "common/model/size.h"

namespace octavo {
namespace {

model::ModelConfig published(const std::string& name) {
  return model::load_config(std::filesystem::path(OCTAVO_SOURCE_DIR) / "common/model/configs" /
                            (name + ".json"));
}

PartCost part_of(const std::vector<PartCost>& parts, Part part) {
  const auto found =
      std::find_if(parts.begin(), parts.end(), [&](const PartCost& p) { return p.part == part; });
  EXPECT_NE(found, parts.end()) << name_of(part);
  return found == parts.end() ? PartCost{} : *found;
}

bool has(const std::vector<PartCost>& parts, Part part) {
  return std::any_of(parts.begin(), parts.end(), [&](const PartCost& p) { return p.part == part; });
}

// The block of 2017 with the parameters of its layer in SwiGLU's form: D = 12, four projections of
// D^2, 3 D F = 8 D^2.
model::ModelConfig classic() {
  model::ModelConfig c;
  c.vocab = 10;
  c.width = 12;
  c.layers = 1;
  c.heads = 3;
  c.kv_heads = 3;
  c.head_width = 4;
  c.ffn_width = 32;
  c.max_context = 100;
  c.dtype = DType::kBF16;
  return c;
}

TEST(Cost, AClassicBlockIsFourSquaresAndEight) {
  const auto parts = forward_cost(classic(), {.tokens = 1, .sequences = 1, .context = 1});
  EXPECT_EQ(part_of(parts, Part::kProjections).parameters, 4 * 12 * 12);
  EXPECT_EQ(part_of(parts, Part::kDenseFfn).parameters, 8 * 12 * 12);
  EXPECT_EQ(part_of(parts, Part::kDenseFfn).work.flops,
            2 * part_of(parts, Part::kProjections).work.flops);
  EXPECT_FALSE(has(parts, Part::kRouter));
  EXPECT_FALSE(has(parts, Part::kRoutedExperts));
}

// Rows of 5 tokens in 2 sequences at context 7, by hand.
TEST(Cost, FlopsAndBytesByHand) {
  const auto parts = forward_cost(classic(), {.tokens = 5, .sequences = 2, .context = 7});
  const auto expect = [&](Part part, double flops, double bytes) {
    EXPECT_EQ(part_of(parts, part).work.flops, flops) << name_of(part);
    EXPECT_EQ(part_of(parts, part).work.bytes, bytes) << name_of(part);
  };
  expect(Part::kEmbedding, 0, 5 * 12 * (2 + 4));
  expect(Part::kProjections, 2 * 5 * 576, 576 * 2 + 5 * 2 * 12 * 4);
  // 4 T context H Dh; a position's cache is 2 * 12 elements of 2 bytes, and 5 rows are added to it
  expect(Part::kScores, 4 * 5 * 7 * 12, (2 * 7 + 5) * 48 + 5 * 2 * 12 * 4);
  expect(Part::kDenseFfn, 2 * 5 * 1152, 1152 * 2 + 5 * 2 * 12 * 4);
  expect(Part::kNorms, 4 * 5 * 36, 36 * 2 + 2 * 5 * 36 * 4);
  expect(Part::kHead, 2 * 2 * 120, 120 * 2 + 2 * (10 + 12) * 4);
}

TEST(Cost, OfTheFfnIsTheWorkOfTheLayer) {
  for (std::int64_t T : {1, 64, 4096}) {
    const Work ours =
        part_of(forward_cost(published("llama-3-70b"), {.tokens = T}), Part::kDenseFfn).work;
    const Work layer = ffn_work(T, 8192, 28672, 3, 2);
    EXPECT_EQ(ours.flops, 80 * layer.flops);
    EXPECT_EQ(ours.bytes, 80 * layer.bytes);
  }
}

TEST(Cost, Llama3With70B) {
  const auto parts = forward_cost(published("llama-3-70b"), {.context = 4096});
  const PartCost ffn = part_of(parts, Part::kDenseFfn), all = total(parts);
  EXPECT_EQ(ffn.parameters, 56'371'445'760);
  EXPECT_EQ(all.parameters, 70'553'706'496);
  EXPECT_NEAR(100.0 * static_cast<double>(ffn.parameters) / static_cast<double>(all.parameters),
              79.9, 0.05);
  EXPECT_EQ(ffn.work.flops, 2.0 * 56'371'445'760);
  // 4 context H Dh in each of 80 layers
  EXPECT_EQ(part_of(parts, Part::kScores).work.flops, 80.0 * 4 * 4096 * 64 * 128);
  // 320 KiB a position; the queries and outputs of one row
  EXPECT_EQ(part_of(parts, Part::kScores).work.bytes,
            4097.0 * 320 * 1024 + 80.0 * 4 * 64 * (128 + 128));
}

TEST(Cost, MixtralUsesAQuarterOfItsExperts) {
  const auto one = forward_cost(published("mixtral-8x7b"), {});
  EXPECT_EQ(total(one).parameters, 46'702'792'704);
  EXPECT_EQ(total(one).active, 12'879'925'248);
  EXPECT_FALSE(has(one, Part::kDenseFfn));
  const PartCost experts = part_of(one, Part::kRoutedExperts);
  EXPECT_EQ(experts.active * 4, experts.parameters);
  EXPECT_EQ(experts.work.flops, 2.0 * static_cast<double>(experts.active));
  // one token reads its two experts, many tokens read all eight
  EXPECT_NEAR(experts.work.bytes, 2.0 * static_cast<double>(experts.active), 32 * 8 * 4096 + 1);
  const auto many = forward_cost(published("mixtral-8x7b"), {.tokens = 512, .sequences = 512});
  EXPECT_NEAR(part_of(many, Part::kRoutedExperts).work.bytes,
              2.0 * static_cast<double>(experts.parameters) + 32.0 * 512 * 8 * 4096, 1);
}

// Keys of 128 + 64 and values of 128 in 128 heads; the cache holds 512 + 64 elements a layer.
TEST(Cost, DeepseekV3HasBothKindsOfLayer) {
  const auto parts = forward_cost(published("deepseek-v3"), {.context = 1000});
  EXPECT_EQ(total(parts).parameters, 671'026'419'200);
  EXPECT_EQ(part_of(parts, Part::kDenseFfn).parameters, std::int64_t{3} * 396'361'728);
  EXPECT_EQ(part_of(parts, Part::kSharedExperts).active, std::int64_t{58} * 44'040'192);
  EXPECT_EQ(part_of(parts, Part::kRouter).parameters, 58 * (7168 * 256 + 256));
  EXPECT_EQ(part_of(parts, Part::kScores).work.flops, 61.0 * 2 * 1000 * 128 * (192 + 128));
  EXPECT_EQ(part_of(parts, Part::kScores).work.bytes,
            1001.0 * 61 * 576 * 2 + 61.0 * 4 * 128 * (192 + 128));
}

TEST(Cost, ATiedHeadIsReadThoughItHasNoParameters) {
  model::ModelConfig c = classic();
  c.tied_embeddings = true;
  const PartCost head = part_of(forward_cost(c, {}), Part::kHead);
  EXPECT_EQ(head.parameters, 0);
  EXPECT_EQ(head.work.bytes, 120 * 2 + 22 * 4);
}

TEST(Cost, ShapesThatMeanNothingAreRefused) {
  for (const ForwardShape& s : {ForwardShape{0, 1, 1}, ForwardShape{1, 0, 1}, ForwardShape{1, 2, 1},
                                ForwardShape{1, 1, 0}}) {
    EXPECT_THROW(forward_cost(classic(), s), Error);
  }
}

TEST(ExpectedExperts, FromOneTokenToMany) {
  EXPECT_DOUBLE_EQ(expected_experts(8, 2, 1), 2);
  EXPECT_DOUBLE_EQ(expected_experts(8, 2, 2), 3.5);  // 8 (1 - 9/16)
  EXPECT_NEAR(expected_experts(8, 2, 16), 7.92, 0.005);
  EXPECT_NEAR(expected_experts(256, 8, 128), 251.6, 0.05);
  EXPECT_DOUBLE_EQ(expected_experts(4, 4, 3), 4);
}

TEST(RooflineModel, IsTheSlowerOfMemoryAndArithmetic) {
  const Roofline m{"m", 10, 100};
  EXPECT_EQ(m.ridge(), 10);
  EXPECT_EQ(m.seconds({.flops = 50, .bytes = 10}), 1);
  EXPECT_EQ(m.seconds({.flops = 400, .bytes = 10}), 4);
  EXPECT_EQ(m.share_of_peak({.flops = 50, .bytes = 10}), 0.5);
  EXPECT_EQ(m.share_of_peak({.flops = 400, .bytes = 10}), 1);
}

// With weights of 2 bytes a token brings one FLOP a byte; its activations push the ridge out a
// little.
TEST(TokensAtRidge, IsTheFirstTokenCountBoundByArithmetic) {
  const Roofline h100{"H100", 3350e9, 989.4e12};
  const std::int64_t T = tokens_at_ridge(h100, 8192, 28672, 3, 2);
  EXPECT_GT(T, 295);
  EXPECT_LT(T, 305);
  EXPECT_LT(h100.share_of_peak(ffn_work(T - 1, 8192, 28672, 3, 2)), 1);
  EXPECT_EQ(h100.share_of_peak(ffn_work(T, 8192, 28672, 3, 2)), 1);
  EXPECT_EQ(tokens_at_ridge({"narrow", 1, 8}, 64, 10, 3, 2), 0);  // 6 F < 8 * ridge
}

}  // namespace
}  // namespace octavo
