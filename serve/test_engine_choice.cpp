// The embedded model through the versions that the engine picks on each device, against the golden
// values of its fp32 original.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "04_paged_kv/golden.h"
#include "06_continuous_batching/generate.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/testing/compare.h"
#include "serve/loaded_model.h"

namespace octavo::serve {
namespace {

const std::string kModels = OCTAVO_SOURCE_DIR "/common/checkpoints/";
const std::string kModel = kModels + "tiny-moe";

struct Route {
  std::string name;  // starts with the backend: the test's label
  Backend backend;
  std::optional<DType> compute;
  const char* prompt;
  std::string model = kModel;

  friend void PrintTo(const Route& route, std::ostream* out) { *out << route.name; }
};

// `exact`: only those whose tokens are the original's; rounded activations may change one.
std::vector<Route> routes(bool exact, const std::string& model = kModel) {
  std::vector<Route> all;
  for (const char* prompt : kGoldenKinds) {
    all.push_back({std::string("cpu_stored_") + prompt, Backend::kCpu, {}, prompt});
    all.push_back({std::string("cpu_f32_") + prompt, Backend::kCpu, DType::kF32, prompt});
    if (prompt == std::string("long")) continue;  // a hundred tokens say no more on the executor
    all.push_back({std::string("simt_f32_") + prompt, Backend::kSimt, DType::kF32, prompt});
    if (exact) continue;
    all.push_back({std::string("simt_bf16_") + prompt, Backend::kSimt, DType::kBF16, prompt});
  }
  for (Route& route : all) route.model = model;
  return all;
}

LoadedModel load(const Route& route) {
  return LoadedModel(route.model, {.device = device_of(route.backend), .compute = route.compute});
}

struct Forward : ForwardObserver {
  std::vector<std::vector<int>> experts;  // a layer
  std::vector<float> logits;              // of the last position

  Forward(LoadedModel& model, const std::vector<int>& ids) {
    const std::int64_t length = std::ssize(ids);
    ThreadPool threads(2);
    Exec exec = model.make_exec(threads, length);
    KvCache cache(model.decoder.kv_shape(), 1, length);
    const std::int32_t block = 0;
    const BatchPart part{.tokens = ids, .first = 0, .blocks = {&block, 1}, .wants_logits = true};
    model.decoder.observe(this);
    logits = model.decoder.forward(exec, make_batch({&part, 1}, length), cache);
    model.decoder.observe(nullptr);
  }
  void routing(std::int64_t, const RoutingPlan& plan) override { experts.push_back(plan.ids); }
};

// The share of (token, expert) choices that both made, in any order.
double agreement(const std::vector<std::vector<int>>& got,
                 const std::vector<std::vector<int>>& want, std::ptrdiff_t top_k) {
  std::int64_t same = 0, all = 0;
  for (std::size_t l = 0; l < want.size(); ++l) {
    for (std::ptrdiff_t s = 0; s < std::ssize(want[l]); ++s) {
      const auto row = got[l].begin() + s / top_k * top_k;
      same += std::count(row, row + top_k, want[l][static_cast<std::size_t>(s)]);
      ++all;
    }
  }
  return static_cast<double>(same) / static_cast<double>(all);
}

class EngineChoiceTest : public ::testing::TestWithParam<Route> {};

TEST_P(EngineChoiceTest, ReachesTheGoldenLogitsAndExperts) {
  const GoldenPrompt golden = load_golden(GetParam().model, GetParam().prompt);
  LoadedModel model = load(GetParam());
  const Forward forward(model, golden.ids);
  const bool rounds = GetParam().backend == Backend::kSimt && GetParam().compute == DType::kBF16;
  const testing::Tolerance tolerance = rounds
                                           ? testing::Tolerance{.absolute = 1e9, .frobenius = 2e-2}
                                           : testing::Tolerance{.absolute = 2e-4};
  const testing::Comparison c = testing::compare(forward.logits.data(), golden.logits.data(),
                                                 std::ssize(golden.logits), tolerance);
  EXPECT_TRUE(c) << c.message;
  if (!rounds) {
    EXPECT_EQ(forward.experts, golden.experts);
    return;
  }
  ASSERT_EQ(forward.experts.size(), golden.experts.size());
  const std::ptrdiff_t top_k = model.decoder.config().moe->top_k;
  EXPECT_GE(agreement(forward.experts, golden.experts, top_k), 0.98);
  std::vector<float> sorted = golden.logits;
  std::ranges::partial_sort(sorted, sorted.begin() + 2, std::greater());
  if (sorted[0] - sorted[1] > 0.2f) {
    EXPECT_EQ(std::ranges::max_element(forward.logits) - forward.logits.begin(),
              std::ranges::max_element(golden.logits) - golden.logits.begin());
  }
}

class GoldenText : public EngineChoiceTest {};

TEST_P(GoldenText, IsWritten) {
  const GoldenPrompt golden = load_golden(GetParam().model, GetParam().prompt);
  const LoadedModel model = load(GetParam());
  ThreadPool threads(2);
  Exec exec = model.make_exec(threads, std::ssize(golden.ids));
  const auto tokens = static_cast<std::int64_t>(GetParam().backend == Backend::kSimt ? 8 : 32);
  const Request request{.prompt = golden.ids, .sampling = {.temperature = 0}, .max_tokens = tokens};
  const Sequence sequence = generate(model.decoder, exec, request, [](int) { return true; });
  const std::vector<int> got(sequence.tokens.begin() + sequence.num_prompt, sequence.tokens.end());
  EXPECT_EQ(got, std::vector<int>(golden.greedy.begin(), golden.greedy.begin() + tokens));
}

INSTANTIATE_TEST_SUITE_P(TinyMoe, EngineChoiceTest, ::testing::ValuesIn(routes(false)),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(TinyMoe, GoldenText, ::testing::ValuesIn(routes(true)),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(TinyMla, EngineChoiceTest,
                         ::testing::ValuesIn(routes(false, kModels + "tiny-mla")),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(TinyMla, GoldenText,
                         ::testing::ValuesIn(routes(true, kModels + "tiny-mla")),
                         [](const auto& test) { return test.param.name; });

TEST(EngineChoice, AVersionThatDoesNotExistIsRefused) {
  EXPECT_NO_THROW(LoadedModel(kModel, {.versions = {"experts=cpu_v1_grouped"}}));
  EXPECT_THROW(LoadedModel(kModel, {.versions = {"experts=cpu_v9"}}), Error);
  EXPECT_THROW(LoadedModel(kModel, {.versions = {"matmul=fastest"}}), Error);
  EXPECT_THROW(LoadedModel(kModel, {.versions = {"matmul"}}), Error);
}

// Eigen's row 0 depends on how many rows there are, so the engine must not be talked into it.
TEST(EngineChoice, AVersionThatIsNotBatchInvariantIsRefused) {
  EXPECT_THROW(LoadedModel(kModel, {.versions = {"matmul=cpu_v1_eigen"}}), Error);
}

}  // namespace
}  // namespace octavo::serve
