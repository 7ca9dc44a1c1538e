// The traffic of the kernels against the formulas in their headers.

#include <gtest/gtest.h>

#include "01_dense_ffn/topics.h"
#include "01_dense_ffn/versions.h"
#include "common/simt/profile/profile.h"
#include "common/testing/contract.h"

namespace octavo::dense_ffn {
namespace {

using simt::KernelProfile;

// One run in bf16 on a device with one multiprocessor, so that a tile or two fill it.
template <class Shape, class Args>
std::vector<KernelProfile> profile(const testing::Topic<Shape, Args>& topic, const Shape& shape,
                                   std::string_view version) {
  Registry registry;
  append_versions(registry);
  testing::OperandSettings settings;
  settings.device = simt_device();
  settings.device.multiprocessors = 1;
  settings.compute = DType::kBF16;
  testing::Operands operands(settings);
  const Args args = topic.make(shape, operands);
  const Version<Args>& v = registry.find<Args>(topic.name, Backend::kSimt, version);
  simt::Profiler profiler;
  EXPECT_TRUE(testing::detail::run_version(v, args, operands).empty());
  return profiler.kernels();
}

void expect_ideal(const KernelProfile& p) {
  EXPECT_GE(p.sites.size(), 5u);  // cp.async's two sides, ldmatrix of both operands, the result
  for (const simt::SiteProfile& s : p.sites) {
    EXPECT_EQ(s.ratio(), 1.0) << s.file << ":" << s.line << "\n" << to_text(p);
  }
  EXPECT_EQ(p.counters.global_sectors * 32, p.counters.global_bytes());
}

// Bytes that tiles of m x n read of x [T, K] and w [columns, K] in bf16.
double tile_bytes(double T, double columns, double K, double m, double n) {
  return 2 * T * columns * K * (1 / m + 1 / n);
}

void expect_matmul(const MatmulShape& shape, double tile) {
  const std::vector<KernelProfile> kernels = profile(matmul_topic(), shape, "gpu_v4_mma");
  ASSERT_EQ(kernels.size(), 1u);
  expect_ideal(kernels[0]);
  const simt::Counters& c = kernels[0].counters;
  const auto T = static_cast<double>(shape.T), N = static_cast<double>(shape.N),
             K = static_cast<double>(shape.K);
  const double formula = tile_bytes(T, N, K, tile, tile);
  EXPECT_EQ(static_cast<double>(c.global_read_bytes), formula);
  EXPECT_NEAR(static_cast<double>(c.global_bytes()), formula, 0.05 * formula);
  EXPECT_EQ(static_cast<double>(c.mma_flops), 2 * T * N * K);
}

TEST(Profile, MatmulOnTensorCoresMovesWhatItsTilesNeed) {
  expect_matmul({128, 128, 2560}, 128);
  expect_matmul({64, 64, 1280}, 64);
}

TEST(Profile, FfnOnTensorCoresMovesWhatItsTilesNeed) {
  for (const bool gated : {true, false}) {
    constexpr std::int64_t kT = 128, kD = 1536, kColumns = 128;  // of gate and up together
    const std::int64_t F = gated ? kColumns / 2 : kColumns;
    const FfnShape shape = {kT, kD, F, Activation::kSilu, gated, false};
    const std::vector<KernelProfile> kernels = profile(ffn_topic(), shape, "gpu_v2_mma");
    ASSERT_EQ(kernels.size(), 2u);
    for (const KernelProfile& kernel : kernels) expect_ideal(kernel);
    const simt::Counters &hidden = kernels[0].counters, &down = kernels[1].counters;
    const double formula = tile_bytes(kT, kColumns, kD, 128, 128);
    EXPECT_EQ(static_cast<double>(hidden.global_read_bytes), formula);
    EXPECT_EQ(static_cast<std::int64_t>(hidden.global_write_bytes), 2 * kT * F);
    EXPECT_NEAR(static_cast<double>(hidden.global_bytes()), formula, 0.05 * formula);
    EXPECT_EQ(static_cast<double>(down.global_read_bytes),
              tile_bytes(kT, kD, static_cast<double>(F), 128, 128));
    EXPECT_EQ(static_cast<std::int64_t>(down.global_write_bytes), 4 * kT * kD);
  }
}

// The warps' sums go through shared memory without two lanes at one bank, and what is loaded and
// stored are whole sectors.
TEST(Profile, DecodeWastesNothing) {
  for (const std::int64_t T : {8, 16}) {
    std::vector<KernelProfile> kernels = profile(matmul_topic(), {T, 64, 512}, "gpu_v5_decode");
    ASSERT_EQ(kernels.size(), 1u);
    for (const bool gated : {false, true}) {
      const FfnShape shape = {T, 512, 256, Activation::kSilu, gated, false};
      for (KernelProfile& k : profile(ffn_topic(), shape, "gpu_v3_decode")) kernels.push_back(k);
    }
    for (const KernelProfile& p : kernels) {
      std::size_t shared = 0;
      for (const simt::SiteProfile& s : p.sites) {
        EXPECT_EQ(s.ratio(), 1.0) << s.file << ":" << s.line << "\n" << to_text(p);
        shared += s.space == simt::cpu::Space::kShared;
      }
      EXPECT_EQ(shared, T > 8 ? 3u : 2u) << to_text(p);  // 8 rows stored, 8 more, all read
    }
  }
}

// What each rung of the ladder is for, in bytes read from global memory: v1 reads for every
// product, v2 for every 32nd, v4 for every 128th.
TEST(Profile, EachRungReadsLess) {
  constexpr MatmulShape kShape = {128, 128, 64};
  const auto read = [&](std::string_view version) {
    const std::vector<KernelProfile> kernels = profile(matmul_topic(), kShape, version);
    return static_cast<double>(kernels.at(0).counters.global_read_bytes);
  };
  EXPECT_EQ(read("gpu_v2_tiled"), tile_bytes(128, 128, 64, 32, 32));
  EXPECT_EQ(read("gpu_v3_registers"), tile_bytes(128, 128, 64, 64, 128));
  EXPECT_EQ(read("gpu_v4_mma"), tile_bytes(128, 128, 64, 128, 128));
  EXPECT_GT(read("gpu_v1_naive"), 10 * read("gpu_v2_tiled"));
}

}  // namespace
}  // namespace octavo::dense_ffn
