// The experts of a layer by versions of the registry against one reference layer an expert.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "01_dense_ffn/versions.h"
#include "02_sparse_moe/moe.h"
#include "02_sparse_moe/versions.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/testing/compare.h"
#include "common/testing/random.h"

namespace octavo {
namespace {

constexpr std::int64_t kD = 16, kF = 24, kE = 5, kTopK = 2;

TensorView matrix(const std::vector<float>& w, std::int64_t N, std::int64_t K) {
  return TensorView(View<const float, 2>(w.data(), {N, K}));
}

// Rows of `width` elements, last to first.
template <class T>
void reverse(std::vector<T>& rows, std::int64_t width) {
  std::ranges::reverse(rows);
  for (auto row = rows.begin(); row != rows.end(); row += width) std::reverse(row, row + width);
}

VersionLinearFactory versions_on(Backend backend) {
  return {registry_of(dense_ffn::append_versions, sparse_moe::append_versions), device_of(backend)};
}

struct Stack {
  std::vector<std::vector<float>> values;
  std::vector<Tensor> tensors;
  std::vector<FfnWeights> experts;

  Stack(Activation activation, bool gated, DType type = DType::kF32) {
    for (std::uint32_t i = 0; i < 3 * kE; ++i) values.push_back(testing::normal(kD * kF, i, 0.3));
    const auto weight = [&](std::size_t i, std::int64_t N, std::int64_t K) {
      tensors.push_back(converted(matrix(values[i], N, K), type));
      return tensors.back().view();
    };
    for (std::size_t e = 0; e < kE; ++e) {
      FfnWeights w;
      w.activation = activation;
      if (gated) w.gate = weight(3 * e, kF, kD);
      w.up = weight(3 * e + 1, kF, kD);
      w.down = weight(3 * e + 2, kD, kF);
      experts.push_back(w);
    }
  }

  // y of T tokens, in just the workspace that the layer asks for; or of the same backwards.
  std::vector<float> run(const LinearFactory& factory, Backend backend, std::int64_t T,
                         bool backwards = false) const {
    const auto layer = make_experts(factory, experts, kTopK);
    EXPECT_EQ(layer->experts(), kE);
    std::vector<int> ids;
    for (int slot = 0; slot < T * kTopK; ++slot) ids.push_back(slot % 7 == 3 ? -1 : slot * 3 % 5);
    std::vector<float> x = testing::normal(T * kD, 50), w = testing::normal(T * kTopK, 51);
    if (backwards) {
      reverse(ids, kTopK);
      reverse(x, kD);
      reverse(w, kTopK);
    }
    std::vector<float> y(x.size(), std::numeric_limits<float>::quiet_NaN());
    ThreadPool threads(2);
    Exec exec(device_of(backend), DType::kF32, threads, layer->workspace(T, kTopK));
    layer->forward(exec, View<const float, 2>(x, {T, kD}), View<const int, 2>(ids, {T, kTopK}),
                   View<const float, 2>(w, {T, kTopK}), View<float, 2>(y, {T, kD}));
    EXPECT_EQ(exec.workspace.used(), 0);
    return y;
  }
};

TEST(VersionExperts, AgreeWithOneReferenceLayerAnExpert) {
  for (const Activation activation : {Activation::kSilu, Activation::kRelu}) {
    for (const bool gated : {true, false}) {
      const Stack stack(activation, gated);
      for (const std::int64_t T : {1, 16, 17, 40}) {
        const std::vector<float> want = stack.run(ReferenceLinearFactory(), Backend::kCpu, T);
        for (const Backend backend : {Backend::kCpu, Backend::kSimt}) {
          const std::vector<float> got = stack.run(versions_on(backend), backend, T);
          const testing::Comparison c =
              testing::compare(got.data(), want.data(), std::ssize(want), {.absolute = 2e-5});
          EXPECT_TRUE(c) << name_of(backend) << " T " << T << " " << gated << ": " << c.message;
        }
      }
    }
  }
}

// Where the kernels round x and H too, to as many bits as the weights have.
TEST(VersionExperts, WeightsInBf16AgreeWithTheReference) {
  const Stack stack(Activation::kSilu, true, DType::kBF16);
  for (const std::int64_t T : {16, 40}) {
    const std::vector<float> want = stack.run(ReferenceLinearFactory(), Backend::kCpu, T);
    for (const auto& [backend, error] : {std::pair{Backend::kCpu, 2e-5}, {Backend::kSimt, 4e-2}}) {
      const std::vector<float> got = stack.run(versions_on(backend), backend, T);
      const testing::Comparison c =
          testing::compare(got.data(), want.data(), std::ssize(want), {.absolute = error});
      EXPECT_TRUE(c) << name_of(backend) << " T " << T << ": " << c.message;
    }
  }
}

TEST(VersionExperts, PermutingTokensPermutesOutputsBitForBit) {
  const Stack stack(Activation::kSilu, true);
  for (const Backend backend : {Backend::kCpu, Backend::kSimt}) {
    const VersionLinearFactory factory = versions_on(backend);
    for (const std::int64_t T : {7, 40}) {
      std::vector<float> back = stack.run(factory, backend, T, true);
      reverse(back, kD);
      EXPECT_EQ(back, stack.run(factory, backend, T)) << name_of(backend) << " " << T;
    }
  }
}

// The sort of one slot counts every expert, which is more than a row of narrow experts needs.
TEST(VersionExperts, TheWorkspaceIsEnoughForASortOverManyExperts) {
  const std::vector<float> half(16, 0.5f), x(4, 1), weight = {1};
  const std::vector<FfnWeights> experts(
      200, {.activation = Activation::kRelu, .up = matrix(half, 4, 4), .down = matrix(half, 4, 4)});
  const std::vector<int> ids = {199};
  for (const Backend backend : {Backend::kCpu, Backend::kSimt}) {
    const auto layer = make_experts(versions_on(backend), experts, 1);
    ThreadPool threads(1);
    Exec exec(device_of(backend), DType::kF32, threads, layer->workspace(1, 1));
    std::vector<float> y(4);
    layer->forward(exec, View<const float, 2>(x, {1, 4}), View<const int, 2>(ids, {1, 1}),
                   View<const float, 2>(weight, {1, 1}), View<float, 2>(y, {1, 4}));
    EXPECT_EQ(y, std::vector<float>(4, 4));
  }
}

TEST(VersionExperts, WhatDoesNotFitIsRefused) {
  const Stack stack(Activation::kSilu, true);
  EXPECT_THROW(make_experts(versions_on(Backend::kCpu), {}, kTopK), Error);
  EXPECT_THROW(make_experts(ReferenceLinearFactory(), {}, kTopK), Error);
  std::vector<FfnWeights> other = stack.experts;
  other[2].up = matrix(stack.values[0], kF - 1, kD);
  EXPECT_THROW(make_experts(versions_on(Backend::kCpu), other, kTopK), Error);
  other = stack.experts;
  other[2].activation = Activation::kRelu;
  EXPECT_THROW(make_experts(versions_on(Backend::kCpu), other, kTopK), Error);
  other = stack.experts;
  other[2].up_bias = View<const float, 1>(stack.values[0].data(), {kF});
  EXPECT_THROW(make_experts(versions_on(Backend::kCpu), other, kTopK), Error);
  EXPECT_NO_THROW(make_experts(ReferenceLinearFactory(), other, kTopK));  // adds them
  other = stack.experts;
  other[0].gate = {};  // the first without a gate, the others with one
  EXPECT_THROW(make_experts(versions_on(Backend::kCpu), other, kTopK), Error);
  for (const std::int64_t k : {std::int64_t{0}, kE + 1}) {
    EXPECT_THROW(make_experts(versions_on(Backend::kCpu), stack.experts, k), Error);
  }
  other = stack.experts;
  const std::vector<bf16> half(kF * kD);
  other[2].up = TensorView(View<const bf16, 2>(half.data(), {kF, kD}));
  EXPECT_THROW(make_experts(versions_on(Backend::kCpu), other, kTopK), Error);

  const auto layer = make_experts(versions_on(Backend::kCpu), stack.experts, kTopK);
  ThreadPool threads(1);
  Exec exec(cpu_device(), DType::kF32, threads, 1 << 16);
  const std::vector<float> x(kD), w(3);
  const std::vector<int> ids(3);
  std::vector<float> y(kD);
  EXPECT_THROW(
      layer->forward(exec, View<const float, 2>(x, {1, kD}), View<const int, 2>(ids, {1, 3}),
                     View<const float, 2>(w, {1, 3}), View<float, 2>(y, {1, kD})),
      Error);
}

// A factory of versions wants one for its device: it does not fall back to the host's.
TEST(VersionExperts, ATopicWithoutAVersionForTheDeviceIsRefused) {
  const Stack stack(Activation::kSilu, true);
  const auto all = registry_of(sparse_moe::append_versions);
  auto registry = std::make_shared<Registry>();
  for (const Version<ExpertsArgs>& v : all->versions<ExpertsArgs>("experts")) {
    if (v.backend == Backend::kCpu) registry->add("experts", v);
  }
  EXPECT_THROW(make_experts(VersionLinearFactory(registry, simt_device()), stack.experts, kTopK),
               Error);
  EXPECT_THROW(
      make_router(VersionLinearFactory(registry, simt_device()), {.experts = kE, .top_k = kTopK}),
      Error);
}

}  // namespace
}  // namespace octavo
