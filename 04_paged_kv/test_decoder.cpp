#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <tuple>

#include "04_paged_kv/decoder.h"
#include "04_paged_kv/golden.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/model/size.h"
#include "common/testing/compare.h"

namespace octavo {
namespace {

Decoder load(const std::string& name) {
  return Decoder(std::make_shared<model::Checkpoint>(model::Checkpoint::open(embedded_model(name))),
                 ReferenceLinearFactory(), std::make_unique<ReferenceAttention>());
}

// What golden values are compared with.
class Recorder : public ForwardObserver {
 public:
  void residual(std::int64_t, View<const float, 2> x) override {
    double squares = 0;
    const View<const float, 1> last = x(x.extent(0) - 1);
    for (std::int64_t d = 0; d < last.extent(0); ++d) {
      squares += static_cast<double>(last(d)) * static_cast<double>(last(d));
    }
    norms.push_back(std::sqrt(squares));
  }
  void routing(std::int64_t, const RoutingPlan& plan) override { experts.push_back(plan.ids); }
  std::vector<double> norms;
  std::vector<std::vector<int>> experts;
};

// Feeds `ids` in chunks and returns the last position's logits.
std::vector<float> last_logits(const Decoder& decoder, const std::vector<int>& ids,
                               std::int64_t chunk, std::int64_t block_size, int threads = 1) {
  const auto length = static_cast<std::int64_t>(ids.size());
  std::vector<std::int32_t> blocks(
      static_cast<std::size_t>((length + block_size - 1) / block_size));
  std::iota(blocks.rbegin(), blocks.rend(),
            0);  // the physical order is the reverse of the logical one
  KvCache cache(decoder.kv_shape(), std::ssize(blocks), block_size);
  ThreadPool pool(threads);
  Exec exec(cpu_device(), DType::kF32, pool, 1 << 20);
  std::vector<float> logits;
  for (std::int64_t first = 0; first < length; first += chunk) {
    const std::int64_t count = std::min(chunk, length - first);
    const BatchPart part{.tokens = std::span(ids).subspan(static_cast<std::size_t>(first),
                                                          static_cast<std::size_t>(count)),
                         .first = first,
                         .blocks = blocks,
                         .wants_logits = first + count == length};
    logits = decoder.forward(exec, make_batch({&part, 1}, block_size), cache);
  }
  return logits;
}

// (checkpoint, kind of prompt)
class GoldenTest : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  std::string model() const { return std::get<0>(GetParam()); }
  GoldenPrompt golden() const {
    return load_golden(embedded_model(model()), std::get<1>(GetParam()));
  }
};

TEST_P(GoldenTest, AgreesWithTransformersInFp32) {
  const GoldenPrompt golden = this->golden();
  Decoder decoder = load(model());
  Recorder recorder;
  decoder.observe(&recorder);
  const auto n = static_cast<std::int64_t>(golden.ids.size());
  const std::vector<float> logits = last_logits(decoder, golden.ids, n, n);
  decoder.observe(nullptr);
  ASSERT_EQ(logits.size(), golden.logits.size());
  const testing::Comparison c =
      testing::compare(logits.data(), golden.logits.data(), std::ssize(logits), {.absolute = 2e-4});
  EXPECT_TRUE(c) << c.message;
  EXPECT_EQ(recorder.experts, golden.experts);
  ASSERT_EQ(recorder.norms.size(), golden.residual_norms.size());
  for (std::size_t l = 0; l < recorder.norms.size(); ++l) {
    EXPECT_NEAR(recorder.norms[l], golden.residual_norms[l], 1e-5 * golden.residual_norms[l]) << l;
  }
}

TEST_P(GoldenTest, GreedyTokensAreTheSame) {
  const GoldenPrompt golden = this->golden();
  const Decoder decoder = load(model());
  const std::int64_t length = std::ssize(golden.ids) + std::ssize(golden.greedy);
  KvCache cache(decoder.kv_shape(), 1, length);
  ThreadPool pool(1);
  Exec exec(cpu_device(), DType::kF32, pool, 1 << 20);
  const std::int32_t block = 0;
  std::vector<int> ids = golden.ids;
  std::int64_t computed = 0;
  for (int want : golden.greedy) {
    const BatchPart part{.tokens = std::span(ids).subspan(static_cast<std::size_t>(computed)),
                         .first = computed,
                         .blocks = {&block, 1},
                         .wants_logits = true};
    const std::vector<float> logits = decoder.forward(exec, make_batch({&part, 1}, length), cache);
    computed = std::ssize(ids);
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    ASSERT_EQ(best, want) << "after " << ids.size() << " tokens";
    ids.push_back(want);
  }
}

INSTANTIATE_TEST_SUITE_P(Embedded, GoldenTest,
                         ::testing::Combine(::testing::ValuesIn(kEmbeddedModels),
                                            ::testing::ValuesIn(kGoldenKinds)),
                         [](const auto& test) {
                           return test_name(std::get<0>(test.param)) + "_" +
                                  std::get<1>(test.param);
                         });

class DecoderTest : public ::testing::TestWithParam<const char*> {
 protected:
  const Decoder decoder_ = load(GetParam());
  const std::vector<int> ids_ = load_golden(embedded_model(GetParam()), "long").ids;
};

INSTANTIATE_TEST_SUITE_P(Embedded, DecoderTest, ::testing::ValuesIn(kEmbeddedModels),
                         [](const auto& test) { return test_name(test.param); });

TEST_P(DecoderTest, ChunksBlocksAndThreadsChangeNoBit) {
  const std::vector<int>& ids = ids_;
  const std::vector<float> whole = last_logits(decoder_, ids, std::ssize(ids), std::ssize(ids));
  for (std::int64_t chunk : {1, 2, 7, 64}) {
    EXPECT_EQ(last_logits(decoder_, ids, chunk, std::ssize(ids)), whole) << "chunk " << chunk;
  }
  for (std::int64_t block_size : {1, 3, 16}) {
    EXPECT_EQ(last_logits(decoder_, ids, 50, block_size), whole) << "block size " << block_size;
  }
  for (int threads : {2, 5}) EXPECT_EQ(last_logits(decoder_, ids, 33, 16, threads), whole);
}

// A row of a batch of several sequences at different stages is the row computed alone.
TEST_P(DecoderTest, NeighboursChangeNoBit) {
  const std::vector<std::size_t> lengths = {1, 17, 60, 33};
  std::vector<std::vector<int>> sequences;
  std::vector<std::vector<std::int32_t>> blocks;
  std::vector<BatchPart> parts;
  std::int32_t next_block = 0;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    sequences.emplace_back(ids_.begin() + static_cast<std::ptrdiff_t>(s),
                           ids_.begin() + static_cast<std::ptrdiff_t>(s + lengths[s]));
    blocks.emplace_back(lengths[s] / 16 + 1);
    std::iota(blocks.back().begin(), blocks.back().end(), next_block);
    next_block += static_cast<std::int32_t>(blocks.back().size());
  }
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    parts.push_back({.tokens = sequences[s], .blocks = blocks[s], .wants_logits = true});
  }
  KvCache cache(decoder_.kv_shape(), next_block, 16);
  ThreadPool pool(2);
  Exec exec(cpu_device(), DType::kF32, pool, 1 << 20);
  const std::vector<float> logits = decoder_.forward(exec, make_batch(parts, 16), cache);
  const auto V = static_cast<std::ptrdiff_t>(decoder_.config().vocab);
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(s) * V;
    EXPECT_EQ(std::vector<float>(begin, begin + V),
              last_logits(decoder_, sequences[s], std::ssize(sequences[s]), 64))
        << "sequence " << s;
  }
}

TEST_P(DecoderTest, TheCacheHoldsWhatTheConfigSays) {
  EXPECT_EQ(decoder_.kv_shape().elements_per_token() * 4,
            model::kv_bytes_per_token(decoder_.config(), DType::kF32));
}

TEST(Decoder, TokensAndPositionsOutsideTheModelAreRefused) {
  const Decoder decoder = load("tiny-moe");
  EXPECT_THROW(last_logits(decoder, {-1}, 1, 1), Error);
  EXPECT_THROW(last_logits(decoder, {static_cast<int>(decoder.config().vocab)}, 1, 1), Error);
  const auto context = static_cast<std::size_t>(decoder.config().max_context);
  EXPECT_THROW(last_logits(decoder, std::vector<int>(context + 1, 5), 5000, 5000), Error);
}

}  // namespace
}  // namespace octavo
