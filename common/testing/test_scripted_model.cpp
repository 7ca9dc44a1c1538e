#include "common/testing/scripted_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/model/checkpoint.h"
#include "common/model/test_files.h"
#include "common/model/tokenizer.h"

namespace octavo::testing {
namespace {

TEST(ScriptedModel, LoadsAndItsTokensAreTheBytesOfTheText) {
  const model::TempFolder folder;
  const ScriptedModel script = {.text = " a\u00e9", .context = 16};
  write_scripted_model(folder.path(), script);
  const auto checkpoint = model::Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.config().vocab, 257);
  EXPECT_EQ(checkpoint.config().width, 6);
  EXPECT_EQ(checkpoint.config().max_context, 16);
  const auto tokenizer = model::Tokenizer::load(folder.path() / "tokenizer.json");
  EXPECT_EQ(tokenizer.encode(" a\u00e9"), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(tokenizer.bytes_of(2), "\xc3");
  EXPECT_EQ(tokenizer.id_of("<|end|>"), script.end());
  EXPECT_TRUE(tokenizer.is_special(script.end()));
}

TEST(ScriptedModel, TheHeadLooksAtTheTokenBefore) {
  const model::TempFolder folder;
  write_scripted_model(folder.path(), {.text = "abc"});
  const auto checkpoint = model::Checkpoint::open(folder.path());
  std::vector<float> head = model::to_float(checkpoint.tensor("lm_head.weight", {257, 4}));
  EXPECT_TRUE(std::all_of(head.begin() + 16, head.end(), [](float h) { return h == 0; }));
  head.resize(16);
  EXPECT_EQ(head, (std::vector<float>{0, 0, 0, 1,  //
                                      1, 0, 0, 0,  //
                                      0, 1, 0, 0,  //
                                      0, 0, 1, 0}));
}

TEST(ScriptedModel, OneByteTwiceIsRefused) {
  const model::TempFolder folder;
  EXPECT_EQ(
      model::error_of([&] { write_scripted_model(folder.path(), {.text = "\u20ac\U0001f642"}); }),
      "the text of a scripted model has byte 0x82 twice");
}

}  // namespace
}  // namespace octavo::testing
