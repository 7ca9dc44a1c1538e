// The loop's control flow, on a model that says a text of our own.

#include "06_continuous_batching/generate.h"

#include <gtest/gtest.h>

#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/model/test_files.h"
#include "common/model/tokenizer.h"
#include "common/testing/scripted_model.h"

namespace octavo {
namespace {

class GenerateTest : public ::testing::Test {
 protected:
  // 10 tokens: letters of 1, 2, 3 and 4 bytes, of which no two bytes are alike
  static constexpr testing::ScriptedModel kModel = {.text = "a\u00e9\u20ac\U0001f643",
                                                    .context = 32};

  GenerateTest() { write_scripted_model(folder_.path(), kModel); }

  Decoder decoder() const {
    return {std::make_shared<model::Checkpoint>(model::Checkpoint::open(folder_.path())),
            ReferenceLinearFactory(), std::make_unique<ReferenceAttention>()};
  }
  Sequence run(
      const Request& request, const GenerateOptions& options = {},
      const TokenCallback& on_token = [](int) { return true; }) const {
    ThreadPool pool(1);
    Exec exec(cpu_device(), DType::kF32, pool, 1 << 20);
    return generate(decoder(), exec, request, on_token, options);
  }
  static Request request(std::vector<int> prompt, std::int64_t max_tokens,
                         SamplingParams sampling = {.temperature = 0}) {
    return {.prompt = std::move(prompt), .sampling = sampling, .max_tokens = max_tokens};
  }
  static std::vector<int> output(const Sequence& s) {
    return {s.tokens.begin() + s.num_prompt, s.tokens.end()};
  }

  model::TempFolder folder_;
};

TEST_F(GenerateTest, EndsAfterMaxTokens) {
  const Sequence s = run(request({0, 4}, 3));
  EXPECT_EQ(output(s), (std::vector<int>{5, 6, 7}));
  EXPECT_EQ(s.num_prompt, 2);
  EXPECT_EQ(s.finish, FinishReason::kLength);
}

TEST_F(GenerateTest, StopsAtAStopTokenWhichIsNotPartOfTheOutput) {
  Request r = request({5}, 20);
  r.stop_tokens = {3, kModel.end()};
  const Sequence s = run(r);
  EXPECT_EQ(output(s), (std::vector<int>{6, 7, 8, 9}));
  EXPECT_EQ(s.finish, FinishReason::kStop);
  r.stop_tokens = {3};  // after <|end|> comes token 0
  EXPECT_EQ(output(run(r)), (std::vector<int>{6, 7, 8, 9, 10, 0, 1, 2}));
}

TEST_F(GenerateTest, AStopTokenCountsWhenItIsTheLastThatMayCome) {
  Request r = request({5}, 2);
  r.stop_tokens = {7};
  EXPECT_EQ(run(r).finish, FinishReason::kStop);
  r.stop_tokens = {8};
  EXPECT_EQ(run(r).finish, FinishReason::kLength);
}

TEST_F(GenerateTest, AStopTokenInThePromptStopsNothing) {
  Request r = request({7, 5}, 4);
  r.stop_tokens = {7};
  EXPECT_EQ(output(run(r)), std::vector<int>{6});
}

TEST_F(GenerateTest, EndsWithTheContext) {
  for (const std::int64_t room : {1, 3}) {
    const std::vector<int> prompt(static_cast<std::size_t>(kModel.context - room), 2);
    const Sequence s = run(request(prompt, kModel.context));
    EXPECT_EQ(s.num_tokens(), kModel.context);
    EXPECT_EQ(s.num_output(), room);
    EXPECT_EQ(s.finish, FinishReason::kLength);
  }
}

TEST_F(GenerateTest, APromptInChunksIsSampledOnce) {
  const std::vector<int> prompt = {9, 3, 1, 7, 0, 2, 4};
  for (std::int64_t budget : {1, 2, 6, 7, 8}) {
    for (std::int64_t block_size : {0, 1, 4}) {
      int calls = 0;
      const Sequence s =
          run(request(prompt, 4), {.token_budget = budget, .block_size = block_size}, [&](int) {
            ++calls;
            return true;
          });
      EXPECT_EQ(output(s), (std::vector<int>{5, 6, 7, 8})) << budget << " " << block_size;
      EXPECT_EQ(calls, 4);
      EXPECT_EQ(s.num_computed, s.num_tokens() - 1);
    }
  }
}

TEST_F(GenerateTest, TheCallbackSeesEveryTokenAndCanEndIt) {
  std::vector<int> seen;
  const Sequence s = run(request({0}, 30), {}, [&](int token) {
    seen.push_back(token);
    return seen.size() < 4;
  });
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(output(s), seen);
  EXPECT_EQ(s.finish, FinishReason::kNone);
}

TEST_F(GenerateTest, StreamedTextNeverEndsInsideALetter) {
  const model::Tokenizer tokenizer = model::Tokenizer::load(folder_.path() / "tokenizer.json");
  model::StreamDecoder stream(tokenizer);
  std::vector<std::string> pieces;
  Request r = request(tokenizer.encode("a"), 30);
  r.stop_tokens = {kModel.end()};
  run(r, {}, [&](int token) {
    pieces.push_back(stream.push(token));
    return true;
  });
  EXPECT_EQ(pieces,
            (std::vector<std::string>{"", "\u00e9", "", "", "\u20ac", "", "", "", "\U0001f643"}));
  EXPECT_EQ(stream.finish(), "");

  // Cut inside the last letter, what is there of it is no letter.
  r.max_tokens = 7;
  run(r, {}, [&](int token) {
    stream.push(token);
    return true;
  });
  EXPECT_EQ(stream.finish(), "\ufffd");
}

TEST_F(GenerateTest, AnotherSeedGivesAnotherText) {
  const auto text = [&](std::uint64_t seed) {
    return run(request({0}, 30, {.temperature = 3, .seed = seed})).tokens;
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
}

TEST_F(GenerateTest, RequestsThatCannotRunAreRefused) {
  const std::int64_t context = kModel.context;
  EXPECT_THROW(run(request({}, 5)), Error);
  EXPECT_THROW(run(request({5}, 0)), Error);
  EXPECT_THROW(run(request({5}, -1)), Error);
  EXPECT_THROW(run(request({5}, context + 1)), Error);
  EXPECT_THROW(run(request(std::vector<int>(static_cast<std::size_t>(context), 5), 1)), Error);
  EXPECT_THROW(run(request({5}, 5, {.temperature = -1})), Error);
  EXPECT_THROW(run(request({5}, 5), {.token_budget = 0}), Error);
}

}  // namespace
}  // namespace octavo
