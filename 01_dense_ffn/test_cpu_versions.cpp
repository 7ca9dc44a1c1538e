// What the host's versions promise beyond the contract, and what Eigen's does not.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "01_dense_ffn/ffn.h"
#include "01_dense_ffn/matmul.h"
#include "01_dense_ffn/versions.h"
#include "common/base/threads.h"
#include "common/testing/compare.h"
#include "common/testing/random.h"

namespace octavo::dense_ffn {
namespace {

std::vector<float> random_matrix(std::int64_t rows, std::int64_t columns, std::uint32_t stream) {
  return testing::normal(rows * columns, stream, 1 / std::sqrt(static_cast<double>(columns)));
}

const Registry& registry() {
  static const Registry versions = [] {
    Registry r;
    append_versions(r);
    return r;
  }();
  return versions;
}

struct Layer {
  virtual ~Layer() = default;
  // Rows [begin, end) of a batch of kRows, on a pool of that size.
  virtual std::vector<float> run(int threads, std::int64_t begin, std::int64_t end) const = 0;
};

constexpr std::int64_t kRows = 210;

template <class W>
class Product : public Layer {
 public:
  Product(std::string_view name, std::int64_t N, std::int64_t K)
      : version_(registry().find<MatmulArgs>("matmul", Backend::kCpu, name)),
        x_(testing::normal(kRows * K, 1)),
        N_(N),
        K_(K) {
    const std::vector<float> w = random_matrix(N, K, 2);
    w_ = std::vector<W>(w.begin(), w.end());
    prepared_ = version_.prepare({{"w", weight()}}, cpu_device());
  }

  std::vector<float> run(int threads, std::int64_t begin, std::int64_t end) const override {
    ThreadPool pool(threads);
    Exec exec(cpu_device(), dtype_of<W>(), pool, 0);
    std::vector<float> y(static_cast<std::size_t>((end - begin) * N_));
    const auto x = View<const float, 2>(x_, {kRows, K_}).rows(begin, end);
    version_.run(exec, {TensorView(x), weight(), View<float, 2>(y, {end - begin, N_})}, prepared_);
    return y;
  }

 private:
  TensorView weight() const { return TensorView(View<const W, 2>(w_.data(), {N_, K_})); }

  const Version<MatmulArgs>& version_;
  std::vector<float> x_;
  std::vector<W> w_;
  std::int64_t N_, K_;
  Prepared prepared_;
};

// A gated layer with biases whose weights bf16 holds exactly, kept as W.
template <class W>
class Ffn : public Layer {
 public:
  static constexpr std::int64_t kD = 40, kF = 300;

  Ffn() : version_(registry().find<FfnArgs>("ffn", Backend::kCpu, "cpu_v1_packed")) {
    const auto fill = [](std::vector<W>& w, std::int64_t rows, std::int64_t columns,
                         std::uint32_t stream) {
      for (float v : random_matrix(rows, columns, stream)) {
        w.push_back(static_cast<W>(static_cast<float>(bf16(v))));
      }
      return TensorView(View<const W, 2>(w.data(), {rows, columns}));
    };
    weights_.gate = fill(gate_, kF, kD, 2);
    weights_.up = fill(up_, kF, kD, 3);
    weights_.down = fill(down_, kD, kF, 4);
    weights_.gate_bias = {bias_.data(), {kF}};
    weights_.up_bias = {bias_.data() + 1, {kF}};
    weights_.down_bias = {bias_.data() + 2, {kD}};
    prepared_ = version_.prepare(
        {{"gate", weights_.gate}, {"up", weights_.up}, {"down", weights_.down}}, cpu_device());
  }

  std::vector<float> run(int threads, std::int64_t begin, std::int64_t end) const override {
    const std::int64_t T = end - begin;
    std::vector<float> y(static_cast<std::size_t>(T * kD));
    FfnArgs args{TensorView(x().rows(begin, end)), weights_, View<float, 2>(y, {T, kD})};
    ThreadPool pool(threads);
    Exec exec(cpu_device(), dtype_of<W>(), pool, version_.workspace(args, cpu_device()));
    version_.run(exec, args, prepared_);
    return y;
  }

  std::vector<float> reference() const {
    ThreadPool pool(1);
    Exec exec(cpu_device(), DType::kF32, pool, 0);
    std::vector<float> y(static_cast<std::size_t>(kRows * kD));
    ffn_reference(exec, x(), weights_, View<float, 2>(y, {kRows, kD}));
    return y;
  }

  const FfnWeights& weights() const { return weights_; }
  const Prepared& prepared() const { return prepared_; }
  View<const float, 2> x() const { return {x_.data(), {kRows, kD}}; }

 private:
  const Version<FfnArgs>& version_;
  std::vector<float> x_ = testing::normal(kRows * kD, 1), bias_ = testing::normal(kF + 2, 5);
  std::vector<W> gate_, up_, down_;
  FfnWeights weights_;
  Prepared prepared_;
};

// One result for any number of threads and any window of the rows.
void expect_bits_of_its_own_for_each_row(const Layer& layer) {
  const std::vector<float> all = layer.run(1, 0, kRows);
  EXPECT_EQ(layer.run(2, 0, kRows), all);
  EXPECT_EQ(layer.run(5, 0, kRows), all);
  const auto width = static_cast<std::int64_t>(all.size()) / kRows;
  for (std::int64_t begin : {0, 1, 100, 209}) {
    for (std::int64_t rows : {1, 2, 3, 5, 8, 13, 30, 200}) {
      const std::int64_t end = std::min(kRows, begin + rows);
      ASSERT_EQ(layer.run(2, begin, end),
                std::vector<float>(all.begin() + begin * width, all.begin() + end * width))
          << "rows " << begin << " to " << end;
    }
  }
}

TEST(MatmulCpuV2Packed, BitsDoNotDependOnThreadsOrNeighbours) {
  expect_bits_of_its_own_for_each_row(Product<bf16>("cpu_v2_packed", 300, 270));
  expect_bits_of_its_own_for_each_row(Product<float>("cpu_v2_packed", 300, 270));
}

TEST(FfnCpuV1Packed, BitsDoNotDependOnThreadsOrNeighbours) {
  expect_bits_of_its_own_for_each_row(Ffn<bf16>());
}

TEST(FfnCpuV1Packed, StorageTypesAgreeOnWeightsThatBothHold) {
  EXPECT_EQ(Ffn<bf16>().run(2, 0, kRows), Ffn<float>().run(2, 0, kRows));
}

TEST(FfnCpuV1Packed, ComesCloseToTheReferenceInManyRows) {
  const Ffn<bf16> layer;
  const std::vector<float> got = layer.run(2, 0, kRows), want = layer.reference();
  const testing::Comparison c =
      testing::compare(got.data(), want.data(), static_cast<std::int64_t>(got.size()),
                       {.absolute = 1e-5, .relative = 1e-5});
  EXPECT_TRUE(c.ok) << c.message;
}

TEST(FfnCpuV1Packed, RefusesWeightsOfAnotherLayer) {
  const Ffn<float> layer;
  const auto& version = registry().find<FfnArgs>("ffn", Backend::kCpu, "cpu_v1_packed");
  FfnWeights other = layer.weights();
  other.gate = {};
  other.gate_bias = {};
  std::vector<float> y(static_cast<std::size_t>(kRows * layer.kD));
  ThreadPool pool(1);
  Exec exec(cpu_device(), DType::kF32, pool, std::int64_t{1} << 22);
  const FfnArgs args{TensorView(layer.x()), other, View<float, 2>(y, {kRows, layer.kD})};
  EXPECT_THROW(version.run(exec, args, layer.prepared()), Error);
}

// Row 0 of Eigen's product in batches of 1 to 8 rows: a library is free to round it differently in
// company, and does. The engine asks for batch-invariant versions only, so it never picks this one.
TEST(MatmulCpuV1Eigen, BitsChangeWithTheBatch) {
  const Product<float> product("cpu_v1_eigen", 64, 300);
  const std::vector<float> alone = product.run(1, 0, 1);
  std::int64_t changed = 0;
  for (std::int64_t T = 2; T <= 8; ++T) {
    std::vector<float> row = product.run(1, 0, T);
    row.resize(alone.size());
    if (row != alone) ++changed;
  }
  EXPECT_GT(changed, 0);
  RecordProperty("batches whose row 0 differs from the row alone, of 7", static_cast<int>(changed));
  EXPECT_FALSE(
      registry().find<MatmulArgs>("matmul", Backend::kCpu, "cpu_v1_eigen").batch_invariant);
}

}  // namespace
}  // namespace octavo::dense_ffn
