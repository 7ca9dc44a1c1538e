// The kernels at the far end of operands with more than 2^31 elements (common/testing/far.h).

#include <gtest/gtest.h>

#include "01_dense_ffn/cast.h"
#include "01_dense_ffn/ffn.h"
#include "01_dense_ffn/matmul.h"
#include "01_dense_ffn/versions.h"
#include "common/base/threads.h"
#include "common/device/registry.h"
#include "common/testing/far.h"

namespace octavo::dense_ffn {
namespace {

using testing::Far;
using testing::LastBlocks;

class DenseFarEnd : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::kFarMemory) GTEST_SKIP() << "not under a sanitizer";
  }
  const Registry& registry() const { return *registry_; }
  Exec exec(DType compute, View<std::byte, 1> scratch = {}) {
    return {simt_device(), compute, threads_, Workspace(scratch)};
  }

  ThreadPool threads_{1};
  std::shared_ptr<const Registry> registry_ = registry_of(append_versions);
};

// The last element of a product whose only terms are the last of x and of w.
template <class E>
void expect_last_product(const Version<MatmulArgs>& version, Exec exec, std::int64_t T,
                         std::int64_t N, std::int64_t K) {
  const Far<E> x(T * K), w(N * K);
  const Far<float> y(T * N);
  x.last() = E(3.0f);
  w.last() = E(2.0f);
  const MatmulArgs args = {TensorView(x.view({T, K})), TensorView(w.view({N, K})), y.view({T, N})};
  const LastBlocks blocks(1);
  version.run(exec, args, Prepared());
  EXPECT_EQ(y.last(), 6.0f) << version.name << " T " << T << " N " << N << " K " << K;
}

TEST_F(DenseFarEnd, OfAProduct) {
  for (const Version<MatmulArgs>& v : registry().versions<MatmulArgs>("matmul")) {
    if (v.backend != Backend::kSimt) continue;
    const bool decode = v.name.ends_with("decode");
    for (const auto& [T, N, K] : {std::array<std::int64_t, 3>{70000, 40, 40000},  // T K
                                  {3, 70000, 40000},                              // N K
                                  {70000, 40000, 8}}) {                           // T N
      if (decode && T > 16) continue;
      if (v.dtypes.contains(DType::kF32)) {
        expect_last_product<float>(v, exec(DType::kF32), T, N, K);
      }
      if (v.dtypes.contains(DType::kBF16)) {
        expect_last_product<bf16>(v, exec(DType::kBF16), T, N, K);
      }
    }
  }
}

// T F elements of H; the layer is not gated, and its only terms are the last ones.
template <class E>
void expect_last_layer(const Version<FfnArgs>& version, ThreadPool& threads, std::int64_t T,
                       std::int64_t D, std::int64_t F) {
  const Far<E> x(T * D), up(F * D), down(D * F);
  const Far<float> y(T * D);
  x.last() = E(3.0f);
  up.last() = E(2.0f);
  down.last() = E(0.5f);
  FfnArgs args = {.x = TensorView(x.view({T, D})),
                  .weights = {.activation = Activation::kRelu},
                  .y = y.view({T, D})};
  args.weights.up = TensorView(up.view({F, D}));
  args.weights.down = TensorView(down.view({D, F}));
  const Far<std::byte> scratch(version.workspace(args, simt_device()));
  Exec exec(
      simt_device(), dtype_of<E>(), threads,
      Workspace(View<std::byte, 1>(scratch.data(), {version.workspace(args, simt_device())})));
  const LastBlocks blocks(1);
  version.run(exec, args, Prepared());
  EXPECT_EQ(y.last(), 3.0f) << version.name << " T " << T << " D " << D << " F " << F;
}

TEST_F(DenseFarEnd, OfALayer) {
  for (const Version<FfnArgs>& v : registry().versions<FfnArgs>("ffn")) {
    if (v.backend != Backend::kSimt) continue;
    const bool decode = v.name.ends_with("decode");
    const std::int64_t T = decode ? 3 : 70000, D = decode ? 70000 : 72, F = 40000;
    if (v.dtypes.contains(DType::kF32)) expect_last_layer<float>(v, threads_, T, D, F);
    if (v.dtypes.contains(DType::kBF16)) expect_last_layer<bf16>(v, threads_, T, D, F);
  }
}

TEST_F(DenseFarEnd, OfACast) {
  constexpr std::int64_t n = (std::int64_t{1} << 31) + 5;
  const Far<float> x(n);
  const Far<bf16> y(n);
  x.last() = 1.5f;
  Exec e = exec(DType::kBF16);
  const LastBlocks blocks(1);
  for (const Version<CastArgs>& v : registry().versions<CastArgs>("cast")) {
    if (v.backend == Backend::kSimt) v.run(e, {x.view({n}), TensorView(y.view({n}))}, Prepared());
  }
  EXPECT_EQ(static_cast<float>(y.last()), 1.5f);
}

// 2^32 + 1 blocks in x would be one, counted in 32 bits.
TEST_F(DenseFarEnd, AGridThat32BitsDoNotCountIsRefused) {
  constexpr std::int64_t n = ((std::int64_t{1} << 32) + 1) * 2048;
  Exec e = exec(DType::kBF16);
  const auto& v = registry().find<CastArgs>("cast", Backend::kSimt, "gpu_v1_vector");
  EXPECT_THROW(
      v.run(e, {{nullptr, {n}}, {static_cast<void*>(nullptr), DType::kBF16, {n}}}, Prepared()),
      Error);
}

}  // namespace
}  // namespace octavo::dense_ffn
