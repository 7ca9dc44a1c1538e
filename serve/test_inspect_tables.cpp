#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/inspect_tables.h"

namespace octavo::serve {
namespace {

using ::testing::HasSubstr;

model::ModelConfig config(const std::string& name) {
  return model::load_config(OCTAVO_SOURCE_DIR "/common/model/configs/" + name + ".json");
}

TEST(WithPrefix, KeepsThreeOrFourDigits) {
  EXPECT_EQ(with_prefix(0), "0");
  EXPECT_EQ(with_prefix(999), "999");
  EXPECT_EQ(with_prefix(1000), "1.00 k");
  EXPECT_EQ(with_prefix(999'994), "999.99 k");
  EXPECT_EQ(with_prefix(999'999), "1.00 M");
  EXPECT_EQ(with_prefix(46.7e9), "46.70 B");
  EXPECT_EQ(with_prefix(2.5e15), "2500.00 T");
}

TEST(Tables, MixtralByHand) {
  const model::ModelConfig c = config("mixtral-8x7b");
  const model::ModelSize size = model::size_of(c);
  // 32 layers x 8 experts x 3 x 4096 x 14336; attention 2 x 4096 x 4096 + 2 x 4096 x 1024 a layer.
  const std::string table = parameter_table(c, size);
  EXPECT_THAT(table, HasSubstr("46.70 B"));
  EXPECT_THAT(table, HasSubstr("12.88 B"));
  EXPECT_THAT(table, HasSubstr("attention 2.50, FFN 84.00 stored and 21.00 used by a token"));
  EXPECT_THAT(memory_text(c, size, 160e9), HasSubstr("leave 66.59 GB: 508075 tokens"));
  EXPECT_THAT(memory_text(c, size, 80e9), HasSubstr("leave nothing"));
  EXPECT_THAT(shape_text(c),
              HasSubstr("8 routed experts of width 14336 in 32 of 32 layers, 2 a token"));
}

// Scores and output: 4 x layers x heads x head width x context for plain attention.
TEST(Tables, AttentionTermsGrowWithTheContext) {
  const model::ModelConfig c = config("llama-3-70b");
  EXPECT_THAT(flops_table(c, 1), HasSubstr("2.62 M"));  // 4 * 80 * 64 * 128
  EXPECT_THAT(flops_table(c, 8192), HasSubstr("21.47 B"));
}

TEST(Bars, ShareOfEachExpertAndTheImbalance) {
  const std::string bars = expert_load_bars({0, 2}, {{3, 1}, {0, 0}});
  EXPECT_THAT(bars, HasSubstr("layer 0"));
  EXPECT_THAT(bars, HasSubstr("layer 2"));
  EXPECT_THAT(bars, HasSubstr("█████████ 75.0 %"));
  EXPECT_THAT(bars, HasSubstr("███       25.0 %"));
  EXPECT_THAT(bars, HasSubstr("1.50"));
}

}  // namespace
}  // namespace octavo::serve
