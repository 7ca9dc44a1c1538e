#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "04_paged_kv/decoder.h"
#include "04_paged_kv/golden.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/testing/compare.h"

namespace octavo {
namespace {

// The experts of the module's last forward.
class MtpExperts : public ForwardObserver {
 public:
  explicit MtpExperts(const Decoder& decoder) : layer_(decoder.config().layers) {}
  void routing(std::int64_t layer, const RoutingPlan& plan) override {
    if (layer == layer_) ids = plan.ids;
  }
  std::vector<int> ids;

 private:
  std::int64_t layer_;
};

class MtpTest : public ::testing::Test {
 protected:
  // A forward of ids at positions 0, 1, ... of one sequence, in blocks of 16; `run` gets the batch.
  template <class Run>
  void in_chunks(const std::vector<int>& ids, std::int64_t chunk, const Run& run) const {
    const std::int64_t length = std::ssize(ids);
    std::vector<std::int32_t> blocks(static_cast<std::size_t>(length / 16 + 1));
    std::iota(blocks.rbegin(), blocks.rend(), 0);
    for (std::int64_t first = 0; first < length; first += chunk) {
      const std::int64_t n = std::min(chunk, length - first);
      const BatchPart part{.tokens = std::span(ids).subspan(static_cast<std::size_t>(first),
                                                            static_cast<std::size_t>(n)),
                           .first = first,
                           .blocks = blocks};
      run(make_batch({&part, 1}, 16), first, n);
    }
  }
  std::int64_t blocks(const std::vector<int>& ids) const { return std::ssize(ids) / 16 + 1; }

  // The module's logits [V] for the token after `ids`, which it reads in chunks.
  std::vector<float> mtp_logits(const std::vector<int>& ids, std::int64_t chunk, int threads = 1) {
    ThreadPool pool(threads);
    Exec exec(cpu_device(), DType::kF32, pool, 1 << 20);
    const std::int64_t D = decoder_.config().width;
    KvCache cache(decoder_.kv_shape(), blocks(ids), 16);
    std::vector<float> hidden;  // [T, D]
    in_chunks(ids, std::ssize(ids), [&](const Batch& batch, std::int64_t, std::int64_t) {
      hidden = decoder_.hidden(exec, batch, cache);
    });
    KvShape one = decoder_.kv_shape();
    one.layers = 1;
    KvCache own(one, blocks(ids), 16);
    const std::vector<int> next(ids.begin() + 1, ids.end());
    const std::vector<float> embedded = decoder_.embed(next);
    std::vector<float> states;
    in_chunks(next, chunk, [&](const Batch& batch, std::int64_t first, std::int64_t n) {
      states =
          module().forward(exec, batch, View<const float, 2>(embedded.data() + first * D, {n, D}),
                           View<const float, 2>(hidden.data() + first * D, {n, D}), own);
    });
    const std::int64_t rows = std::ssize(states) / D;
    return decoder_.logits(exec, View<const float, 2>(states, {rows, D}).rows(rows - 1, rows));
  }

  const MtpModule& module() const { return decoder_.mtp().at(0); }

  const std::filesystem::path folder_ = embedded_model("tiny-mla");
  Decoder decoder_{std::make_shared<model::Checkpoint>(model::Checkpoint::open(folder_)),
                   ReferenceLinearFactory(), std::make_unique<ReferenceAttention>()};
};

class MtpGoldenTest : public MtpTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(MtpGoldenTest, AgreesWithTheTrainingCode) {
  const GoldenPrompt golden = load_golden(folder_, GetParam());
  std::vector<int> ids = golden.ids;
  ids.push_back(golden.greedy[0]);
  MtpExperts experts(decoder_);
  decoder_.observe(&experts);
  const std::vector<float> logits = mtp_logits(ids, std::ssize(ids));
  decoder_.observe(nullptr);
  ASSERT_EQ(logits.size(), golden.mtp_logits.size());
  const testing::Comparison c = testing::compare(logits.data(), golden.mtp_logits.data(),
                                                 std::ssize(logits), {.absolute = 2e-4});
  EXPECT_TRUE(c) << c.message;
  EXPECT_EQ(experts.ids, golden.mtp_experts);
}

INSTANTIATE_TEST_SUITE_P(TinyMla, MtpGoldenTest, ::testing::ValuesIn(kGoldenKinds),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(MtpTest, ChunksAndThreadsChangeNoBit) {
  std::vector<int> ids = load_golden(folder_, "odd_length").ids;
  const std::vector<float> whole = mtp_logits(ids, std::ssize(ids));
  for (std::int64_t chunk : {1, 5, 16}) EXPECT_EQ(mtp_logits(ids, chunk, 2), whole) << chunk;
}

TEST_F(MtpTest, RowsThatDoNotFitAreRefused) {
  ThreadPool pool(1);
  Exec exec(cpu_device(), DType::kF32, pool, 1 << 20);
  KvShape one = decoder_.kv_shape();
  one.layers = 1;
  KvCache own(one, 1, 16);
  const std::int64_t D = decoder_.config().width;
  const std::vector<float> x(static_cast<std::size_t>(2 * D));
  in_chunks({5, 6}, 2, [&](const Batch& batch, std::int64_t, std::int64_t) {
    EXPECT_THROW(module().forward(exec, batch, View<const float, 2>(x, {2, D}),
                                  View<const float, 2>(x.data(), {1, D}), own),
                 Error);
  });
}

}  // namespace
}  // namespace octavo
