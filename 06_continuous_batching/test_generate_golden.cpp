// The loop on the embedded models: the golden tokens, and that nothing but the request decides
// them.

#include <gtest/gtest.h>

#include "04_paged_kv/golden.h"
#include "06_continuous_batching/generate.h"
#include "common/base/threads.h"

namespace octavo {
namespace {

class GenerateEmbedded : public ::testing::TestWithParam<const char*> {
 protected:
  Sequence run(const Request& request, const GenerateOptions& options = {}, int threads = 1) const {
    ThreadPool pool(threads);
    Exec exec(cpu_device(), DType::kF32, pool, 1 << 20);
    return generate(
        decoder_, exec, request, [](int) { return true; }, options);
  }

  const std::filesystem::path folder_ = embedded_model(GetParam());
  Decoder decoder_{std::make_shared<model::Checkpoint>(model::Checkpoint::open(folder_)),
                   ReferenceLinearFactory(), std::make_unique<ReferenceAttention>()};
};

INSTANTIATE_TEST_SUITE_P(Models, GenerateEmbedded, ::testing::ValuesIn(kEmbeddedModels),
                         [](const auto& test) { return test_name(test.param); });

TEST_P(GenerateEmbedded, GreedyTokensAreTheGoldenOnes) {
  for (const GoldenPrompt& golden : load_golden(folder_)) {
    const Sequence s =
        run({.prompt = golden.ids, .sampling = {.temperature = 0}, .max_tokens = 32});
    EXPECT_EQ(std::vector<int>(s.tokens.begin() + s.num_prompt, s.tokens.end()), golden.greedy)
        << golden.kind;
    EXPECT_EQ(s.finish, FinishReason::kLength);
  }
}

TEST_P(GenerateEmbedded, ChunksBlocksAndThreadsChangeNoToken) {
  const Request r = {.prompt = load_golden(folder_, "long").ids,
                     .sampling = {.temperature = 0.9, .top_k = 50, .top_p = 0.95, .seed = 11},
                     .max_tokens = 40};
  const std::vector<int> want = run(r).tokens;
  for (const GenerateOptions& options :
       {GenerateOptions{.token_budget = 1, .block_size = 16},
        GenerateOptions{.token_budget = 5, .block_size = 1}, GenerateOptions{.token_budget = 64}}) {
    EXPECT_EQ(run(r, options, 2).tokens, want) << options.token_budget;
  }
}

}  // namespace
}  // namespace octavo
