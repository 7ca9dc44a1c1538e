#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "04_paged_kv/mla.h"
#include "04_paged_kv/rms_norm.h"
#include "04_paged_kv/rope.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/testing/compare.h"
#include "common/testing/random.h"

namespace octavo {
namespace {

constexpr std::int64_t D = 24, H = 3, kRank = 10, kNope = 6, kRope = 4, kV = 5, kLength = 19;
constexpr double kTheta = 100;

struct Form {
  std::int64_t q_rank;
  bool interleaved;
};

class MlaTest : public ::testing::TestWithParam<Form> {
 protected:
  MlaTest() {
    shape_ = {.q_rank = GetParam().q_rank,
              .kv_rank = kRank,
              .nope = kNope,
              .rope = kRope,
              .v = kV,
              .rope_interleaved = GetParam().interleaved};
    for (float& w : latent_norm_) w += 1.5f;
    for (float& w : query_norm_) w += 1.5f;
  }

  static TensorView matrix(const std::vector<float>& w, std::int64_t N, std::int64_t K) {
    return TensorView(View<const float, 2>(w.data(), {N, K}));
  }
  std::int64_t query_inputs() const { return shape_.q_rank > 0 ? shape_.q_rank : D; }

  MlaLayer layer() const {
    const ReferenceLinearFactory factory;
    MlaWeights w{.shape = shape_, .rope_theta = kTheta};
    if (shape_.q_rank > 0) {
      w.query_down = factory.make(matrix(query_down_, shape_.q_rank, D));
      w.query_norm.assign(query_norm_.begin(), query_norm_.begin() + shape_.q_rank);
    }
    w.query = factory.make(matrix(query_, H * (kNope + kRope), query_inputs()));
    w.kv_down = factory.make(matrix(kv_down_, kRank + kRope, D));
    w.latent_norm = latent_norm_;
    set_kv_up(w, matrix(kv_up_, H * (kNope + kV), kRank), H, factory);
    w.output = factory.make(matrix(output_, D, H * kV));
    return {std::move(w), std::make_shared<ReferenceAttention>()};
  }

  // All positions in chunks, in blocks whose physical order is the reverse of the logical one.
  std::vector<float> run(std::int64_t chunk, std::int64_t block_size, int threads = 1) const {
    const std::vector<int> tokens(kLength);
    std::vector<std::int32_t> blocks(
        static_cast<std::size_t>((kLength + block_size - 1) / block_size));
    std::iota(blocks.rbegin(), blocks.rend(), 0);
    KvCache cache({.layers = 1, .kv_heads = 1, .head_width = kRank + kRope, .latent = kRank},
                  std::ssize(blocks), block_size);
    ThreadPool pool(threads);
    Exec exec(cpu_device(), DType::kF32, pool, 0);
    const MlaLayer mla = layer();
    std::vector<float> y(kLength * D);
    const View<const float, 2> x(x_, {kLength, D});
    for (std::int64_t first = 0; first < kLength; first += chunk) {
      const std::int64_t end = std::min(first + chunk, kLength);
      const BatchPart part{
          .tokens = std::span(tokens).subspan(static_cast<std::size_t>(first),
                                              static_cast<std::size_t>(end - first)),
          .first = first,
          .blocks = blocks};
      mla.forward(exec, 0, make_batch({&part, 1}, block_size), cache, x.rows(first, end),
                  View<float, 2>(y, {kLength, D}).rows(first, end));
    }
    return y;
  }

  std::vector<float> multiply(const std::vector<float>& w, std::int64_t N,
                              const std::vector<float>& x, std::int64_t K) const {
    const std::int64_t T = std::ssize(x) / K;
    ThreadPool pool(1);
    Exec exec(cpu_device(), DType::kF32, pool, 0);
    std::vector<float> y(static_cast<std::size_t>(T * N));
    matmul_reference(exec, View<const float, 2>(x, {T, K}), matrix(w, N, K),
                     View<float, 2>(y, {T, N}));
    return y;
  }

  std::vector<float> unabsorbed() const;
  static void attend(const std::vector<float>& q, const std::vector<float>& kv,
                     const std::vector<float>& turned, const std::vector<float>& key,
                     std::int64_t h, std::int64_t t, std::vector<float>& heads);

  model::MlaConfig shape_;
  std::vector<float> x_ = testing::normal(kLength * D, 1);
  std::vector<float> query_down_ = testing::normal(8 * D, 2, 0.3);
  std::vector<float> query_norm_ = testing::normal(8, 3, 0.3);
  std::vector<float> query_ = testing::normal(H * (kNope + kRope) * D, 4, 0.3);
  std::vector<float> kv_down_ = testing::normal((kRank + kRope) * D, 5, 0.3);
  std::vector<float> latent_norm_ = testing::normal(kRank, 6, 0.3);
  std::vector<float> kv_up_ = testing::normal(H * (kNope + kV) * kRank, 7, 0.4);
  std::vector<float> output_ = testing::normal(D * H * kV, 8, 0.3);
};

double dot(const float* a, const float* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t d = 0; d < n; ++d) sum += static_cast<double>(a[d]) * static_cast<double>(b[d]);
  return sum;
}

// Head h of row t: queries q with their turned part, keys and values of every position in kv, and
// the rotary keys that all heads share.
void MlaTest::attend(const std::vector<float>& q, const std::vector<float>& kv,
                     const std::vector<float>& turned, const std::vector<float>& key,
                     std::int64_t h, std::int64_t t, std::vector<float>& heads) {
  const auto head = [&](std::int64_t p) { return kv.data() + (p * H + h) * (kNope + kV); };
  std::vector<double> weight;
  for (std::int64_t p = 0; p <= t; ++p) {
    const double score = dot(q.data() + (t * H + h) * (kNope + kRope), head(p), kNope) +
                         dot(turned.data() + t * kRope, key.data() + p * kRope, kRope);
    weight.push_back(std::exp(score / std::sqrt(static_cast<double>(kNope + kRope))));
  }
  const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
  for (std::int64_t d = 0; d < kV; ++d) {
    double value = 0;
    for (std::int64_t p = 0; p <= t; ++p) {
      value += weight[static_cast<std::size_t>(p)] * static_cast<double>(head(p)[kNope + d]);
    }
    heads[static_cast<std::size_t>((t * H + h) * kV + d)] = static_cast<float>(value / sum);
  }
}

// DeepSeek-V2's equations as they are written, without a cache: keys and values of every head are
// made from the latents, then it is ordinary attention.
std::vector<float> MlaTest::unabsorbed() const {
  std::vector<float> in = x_;
  if (shape_.q_rank > 0) {
    in = multiply(query_down_, shape_.q_rank, x_, D);
    const View<float, 2> rows(in, {kLength, shape_.q_rank});
    rms_norm_reference(rows, std::span(query_norm_).first(static_cast<std::size_t>(shape_.q_rank)),
                       1e-6, rows);
  }
  std::vector<std::int64_t> positions(kLength);
  std::iota(positions.begin(), positions.end(), 0);
  const auto turn = [&](std::vector<float>& rows) {
    rope_reference(View<float, 3>(rows, {kLength, 1, kRope}), positions, kTheta,
                   shape_.rope_interleaved ? RopePairing::kNeighbours : RopePairing::kHalves);
  };
  const std::vector<float> q = multiply(query_, H * (kNope + kRope), in, query_inputs());
  const std::vector<float> down = multiply(kv_down_, kRank + kRope, x_, D);
  std::vector<float> c, key;
  for (std::int64_t t = 0; t < kLength; ++t) {
    const auto row = down.begin() + t * (kRank + kRope);
    c.insert(c.end(), row, row + kRank);
    key.insert(key.end(), row + kRank, row + kRank + kRope);
  }
  rms_norm_reference(View<const float, 2>(c, {kLength, kRank}), latent_norm_, 1e-6,
                     View<float, 2>(c, {kLength, kRank}));
  turn(key);
  const std::vector<float> kv = multiply(kv_up_, H * (kNope + kV), c, kRank);
  std::vector<float> heads(kLength * H * kV);
  for (std::int64_t h = 0; h < H; ++h) {
    std::vector<float> turned;
    for (std::int64_t t = 0; t < kLength; ++t) {
      const auto row = q.begin() + (t * H + h) * (kNope + kRope) + kNope;
      turned.insert(turned.end(), row, row + kRope);
    }
    turn(turned);
    for (std::int64_t t = 0; t < kLength; ++t) attend(q, kv, turned, key, h, t, heads);
  }
  return multiply(output_, D, heads, H * kV);
}

TEST_P(MlaTest, TheAbsorbedFormIsTheUnabsorbedOne) {
  const std::vector<float> want = unabsorbed(), got = run(kLength, kLength);
  const testing::Comparison c =
      testing::compare(got.data(), want.data(), std::ssize(got), {.absolute = 2e-6});
  EXPECT_TRUE(c) << c.message;
}

TEST_P(MlaTest, ChunksBlocksAndThreadsChangeNoBit) {
  const std::vector<float> whole = run(kLength, kLength);
  for (std::int64_t chunk : {1, 2, 7}) EXPECT_EQ(run(chunk, kLength), whole) << chunk;
  for (std::int64_t block_size : {1, 4}) EXPECT_EQ(run(5, block_size, 2), whole) << block_size;
}

INSTANTIATE_TEST_SUITE_P(Forms, MlaTest,
                         ::testing::Values(Form{0, true}, Form{0, false}, Form{8, true}),
                         [](const auto& test) {
                           return std::string(test.param.q_rank > 0 ? "CompressedQueries"
                                                                    : "PlainQueries") +
                                  (test.param.interleaved ? "Neighbours" : "Halves");
                         });

TEST(Mla, AKvBOfAnotherShapeIsRefused) {
  const std::vector<float> w(12);
  MlaWeights weights{.shape = {.kv_rank = 2, .nope = 1, .rope = 2, .v = 2}};
  const auto set = [&](std::int64_t N, std::int64_t K) {
    set_kv_up(weights, TensorView(View<const float, 2>(w.data(), {N, K})), 2,
              ReferenceLinearFactory());
  };
  EXPECT_NO_THROW(set(6, 2));
  EXPECT_THROW(set(4, 2), Error);
  EXPECT_THROW(set(6, 1), Error);
}

}  // namespace
}  // namespace octavo
