#include <gtest/gtest.h>

#include "04_paged_kv/golden.h"
#include "06_continuous_batching/generate.h"
#include "common/base/error.h"
#include "common/base/threads.h"

namespace octavo {
namespace {

const std::filesystem::path kModel = embedded_model("tiny-moe");

class GenerateTest : public ::testing::Test {
 protected:
  explicit GenerateTest(const std::filesystem::path& folder = kModel)
      : decoder_(std::make_shared<model::Checkpoint>(model::Checkpoint::open(folder)),
                 ReferenceLinearFactory(), std::make_unique<ReferenceAttention>()) {}

  Sequence run(const Request& request, const GenerateOptions& options = {}, int threads = 1) const {
    ThreadPool pool(threads);
    Exec exec(cpu_device(), DType::kF32, pool, 0);
    return generate(
        decoder_, exec, request, [](int) { return true; }, options);
  }
  static Request request(std::vector<int> prompt, std::int64_t max_tokens,
                         SamplingParams sampling) {
    return {.prompt = std::move(prompt),
            .sampling = sampling,
            .max_tokens = max_tokens,
            .stop_tokens = {}};
  }
  static std::vector<int> output(const Sequence& s) {
    return {s.tokens.begin() + s.num_prompt, s.tokens.end()};
  }

  Decoder decoder_;
};

class GenerateEmbedded : public GenerateTest, public ::testing::WithParamInterface<const char*> {
 protected:
  GenerateEmbedded() : GenerateTest(folder()) {}
  static std::filesystem::path folder() { return embedded_model(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Models, GenerateEmbedded, ::testing::ValuesIn(kEmbeddedModels),
                         [](const auto& test) { return test_name(test.param); });

TEST_P(GenerateEmbedded, GreedyTokensAreTheGoldenOnes) {
  for (const GoldenPrompt& golden : load_golden(folder())) {
    const Sequence s = run(request(golden.ids, 32, {.temperature = 0}));
    EXPECT_EQ(output(s), golden.greedy) << golden.kind;
    EXPECT_EQ(s.finish, FinishReason::kLength);
  }
}

TEST_P(GenerateEmbedded, ChunksBlocksAndThreadsChangeNoToken) {
  const GoldenPrompt golden = load_golden(folder(), "long");
  const Request r =
      request(golden.ids, 40, {.temperature = 0.9, .top_k = 50, .top_p = 0.95, .seed = 11});
  const std::vector<int> want = run(r).tokens;
  for (std::int64_t budget : {1, 5, 64}) {
    for (std::int64_t block_size : {1, 16}) {
      EXPECT_EQ(run(r, {.token_budget = budget, .block_size = block_size}, 2).tokens, want)
          << budget << " " << block_size;
    }
  }
}

TEST_F(GenerateTest, AnotherSeedGivesAnotherText) {
  const std::vector<int> prompt = load_golden(kModel, "chat").ids;
  const auto text = [&](std::uint64_t seed) {
    return run(request(prompt, 30, {.temperature = 1.5, .seed = seed})).tokens;
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
}

TEST_F(GenerateTest, StopsAtAStopTokenWhichIsNotPartOfTheOutput) {
  const GoldenPrompt golden = load_golden(kModel, "chat");
  Request r = request(golden.ids, 32, {.temperature = 0});
  const int stop = golden.greedy[5];
  r.stop_tokens = {stop};
  const Sequence s = run(r);
  EXPECT_EQ(s.finish, FinishReason::kStop);
  const auto first = std::find(golden.greedy.begin(), golden.greedy.end(), stop);
  EXPECT_EQ(output(s), std::vector<int>(golden.greedy.begin(), first));
}

TEST_F(GenerateTest, EndsWithTheContext) {
  const auto context = decoder_.config().max_context;
  const std::vector<int> prompt(static_cast<std::size_t>(context - 3), 300);
  const Sequence s = run(request(prompt, context, {.temperature = 0}));
  EXPECT_EQ(s.num_tokens(), context);
  EXPECT_EQ(s.finish, FinishReason::kLength);
}

TEST_F(GenerateTest, TheCallbackSeesEveryTokenAndCanEndIt) {
  const std::vector<int> prompt = load_golden(kModel, "chat").ids;
  ThreadPool pool(1);
  Exec exec(cpu_device(), DType::kF32, pool, 0);
  std::vector<int> seen;
  const Sequence s =
      generate(decoder_, exec, request(prompt, 30, {.temperature = 0}), [&](int token) {
        seen.push_back(token);
        return seen.size() < 4;
      });
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_EQ(output(s), seen);
  EXPECT_EQ(s.finish, FinishReason::kNone);
}

TEST_F(GenerateTest, RequestsThatCannotRunAreRefused) {
  const auto context = decoder_.config().max_context;
  EXPECT_THROW(run(request({}, 5, {})), Error);
  EXPECT_THROW(run(request({5}, 0, {})), Error);
  EXPECT_THROW(run(request({5}, -1, {})), Error);
  EXPECT_THROW(run(request({5}, context + 1, {})), Error);
  EXPECT_THROW(run(request(std::vector<int>(static_cast<std::size_t>(context), 5), 1, {})), Error);
  EXPECT_THROW(run(request({5}, 5, {.temperature = -1})), Error);
  EXPECT_THROW(run(request({5}, 5, {}), {.token_budget = 0}), Error);
}

}  // namespace
}  // namespace octavo
