// The profile of the example kernels against figures worked out by hand from their access patterns.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/simt/examples/examples.h"
#include "common/simt/launch.h"
#include "common/simt/profile/profile.h"
#include "common/simt/profile/recorder.h"
#include "common/simt/tests/memory.h"

namespace octavo::simt::examples {
namespace {

using cpu::Space;
using memory::Shared;
using ::testing::HasSubstr;

KernelProfile only_kernel(const Profiler& profiler) {
  const std::vector<KernelProfile> kernels = profiler.kernels();
  EXPECT_EQ(kernels.size(), 1u);
  return kernels.at(0);
}

// The sites of this space and kind, in order of line.
std::vector<SiteProfile> select(const KernelProfile& p, Space space, AccessKind kind) {
  std::vector<SiteProfile> found;
  for (const SiteProfile& s : p.sites) {
    if (s.space == space && s.kind == kind) found.push_back(s);
  }
  return found;
}

KernelProfile profile_transpose(Transpose version, int rows, int cols) {
  const auto n = static_cast<std::size_t>(rows * cols);
  Shared<float> x(n), y(n);
  x.fill(1);
  Profiler profiler;
  on_simt::transpose(version, x.data(), y.data(), rows, cols);
  return only_kernel(profiler);
}

TEST(Profile, NaiveTransposeWritesEightTimesTheSectors) {
  const KernelProfile p = profile_transpose(Transpose::kNaive, 64, 96);
  ASSERT_EQ(p.sites.size(), 2u) << to_text(p);
  const SiteProfile load = select(p, Space::kGlobal, AccessKind::kLoad).at(0);
  const SiteProfile store = select(p, Space::kGlobal, AccessKind::kStore).at(0);
  EXPECT_EQ(load.requests, 64u * 96 / 32);
  EXPECT_EQ(load.ratio(), 1.0);
  EXPECT_EQ(store.requests, 64u * 96 / 32);
  EXPECT_EQ(store.ratio(), 8.0);
  EXPECT_EQ(store.file, "transpose.cu");
  EXPECT_THAT(p.kernel, HasSubstr("naive_kernel"));
  EXPECT_EQ(p.counters.global_read_bytes, 64u * 96 * 4);
  EXPECT_EQ(p.counters.global_write_bytes, 64u * 96 * 4);
  EXPECT_EQ(p.counters.global_sectors, 64u * 96 * 4 / 32 * 9);
}

TEST(Profile, UnpaddedTileReadsAColumnInThirtyTwoTurnsAndPaddedInOne) {
  for (Transpose version : {Transpose::kTiled, Transpose::kPadded}) {
    const KernelProfile p = profile_transpose(version, 64, 96);
    ASSERT_EQ(p.sites.size(), 4u) << to_text(p);
    for (const SiteProfile& s : p.sites) {
      const bool column = s.space == Space::kShared && s.kind == AccessKind::kLoad;
      EXPECT_EQ(s.ratio(), column && version == Transpose::kTiled ? 32.0 : 1.0) << s.line;
      EXPECT_EQ(s.requests, 64u * 96 / 32);
    }
    EXPECT_EQ(p.counters.barriers, 6u);
    EXPECT_EQ(p.counters.threads, 6u * 256);
  }
}

TEST(Profile, SoftmaxReadsItsRowThreeTimes) {
  Shared<float> x(8 * 64), y(8 * 64);
  x.fill(1);
  Profiler profiler;
  on_simt::softmax(x.data(), y.data(), 8, 64);
  const KernelProfile p = only_kernel(profiler);
  EXPECT_EQ(p.counters.global_read_bytes, 3u * 8 * 64 * 4);
  EXPECT_EQ(p.counters.global_write_bytes, 8u * 64 * 4);
  EXPECT_EQ(p.counters.warp_operations, 8u * 10);  // two butterflies of five steps a row
  for (const SiteProfile& s : p.sites) EXPECT_EQ(s.ratio(), 1.0) << to_text(p);
}

// All 1.00x: cp.async and ldmatrix through the swizzle, and the stores of pairs. The bytes are
// those of the formula in matmul.cu; y adds less than 5 % at this K.
TEST(Profile, MatmulMovesNoMoreThanItsTilesNeed) {
  constexpr int kT = 128, kN = 192, kK = 2048, kTile = 64;
  Shared<std::uint16_t> x(kT * kK), w(kN * kK);
  Shared<float> y(kT * kN);
  x.fill(0);
  w.fill(0);
  Profiler profiler;
  on_simt::matmul({x.data(), w.data(), y.data(), kT, kN, kK});
  const KernelProfile p = only_kernel(profiler);
  for (const SiteProfile& s : p.sites) EXPECT_EQ(s.ratio(), 1.0) << to_text(p);
  ASSERT_EQ(p.sites.size(), 5u) << to_text(p);
  EXPECT_EQ(select(p, Space::kGlobal, AccessKind::kCopyFrom).size(), 1u);
  EXPECT_EQ(select(p, Space::kShared, AccessKind::kCopyTo).size(), 1u);
  EXPECT_EQ(select(p, Space::kShared, AccessKind::kLdmatrix).size(), 2u);
  const std::vector<SiteProfile> stores = select(p, Space::kGlobal, AccessKind::kStore);
  ASSERT_EQ(stores.size(), 1u);
  EXPECT_EQ(stores[0].bytes_per_lane, 8);

  constexpr double kFormula = 2.0 * kT * kN * kK * (1.0 / kTile + 1.0 / kTile);
  EXPECT_EQ(static_cast<double>(p.counters.global_read_bytes), kFormula);
  EXPECT_EQ(p.counters.global_write_bytes, 4u * kT * kN);
  EXPECT_NEAR(static_cast<double>(p.counters.global_bytes()), kFormula, 0.05 * kFormula);
  EXPECT_EQ(p.counters.global_sectors * 32, p.counters.global_bytes());
  EXPECT_EQ(p.counters.mma, std::uint64_t{kT} * kN * kK / (16 * 8 * 16));
  EXPECT_EQ(p.counters.mma_flops, std::uint64_t{2} * kT * kN * kK);
  EXPECT_EQ(p.counters.launches, 1u);
}

TEST(Profile, LaunchesOfOneKernelAddUp) {
  Shared<int> x(512), y(512);
  x.fill(1);
  Profiler profiler;
  for (int i = 0; i < 3; ++i) on_simt::scan(x.data(), y.data(), 2, 256);
  const KernelProfile p = only_kernel(profiler);
  EXPECT_EQ(p.counters.launches, 3u);
  EXPECT_EQ(p.counters.blocks, 6u);
  EXPECT_EQ(p.counters.barriers, 6u * 3);
  EXPECT_EQ(p.counters.global_read_bytes, 3u * 512 * 4);
  EXPECT_EQ(y[511], 256);
}

// Neither instrumented nor equal: block b does b barriers, so that it shows which blocks ran.
__global__ void uneven_kernel() {
  for (unsigned i = 0; i < blockIdx.x; ++i) __syncthreads();
}

Counters profile_uneven(std::optional<Sample> sample, std::int64_t blocks, bool whole = false) {
  Profiler profiler(sample);
  Stream stream(simt_device());
  launch(uneven_kernel, LaunchConfig{.grid = {blocks}, .block = {32}, .needs_whole_grid = whole},
         stream);
  return only_kernel(profiler).counters;
}

TEST(ProfileSample, AGridIsScaledUpFromBlocksSpreadOverIt) {
  constexpr std::uint64_t kBlocks = 1000, kBarriers = kBlocks * (kBlocks - 1) / 2;
  for (const std::uint64_t n : {4u, 16u, 100u}) {
    const Counters c = profile_uneven(Sample{.blocks = n, .accesses = 0}, kBlocks);
    EXPECT_EQ(c.blocks_run, n);
    EXPECT_EQ(c.blocks, kBlocks);
    EXPECT_EQ(c.threads, kBlocks * 32);
    EXPECT_EQ(c.launches, 1u);
    EXPECT_NEAR(static_cast<double>(c.barriers), kBarriers, kBarriers / std::sqrt(n)) << n;
  }
}

TEST(ProfileSample, WholeGridsAreExact) {
  for (const std::int64_t blocks : {1, 2, 3, 17, 64}) {
    const auto n = static_cast<std::uint64_t>(blocks);
    for (const Counters& c : {profile_uneven({}, blocks),
                              profile_uneven(Sample{.blocks = 1, .accesses = 0}, blocks, true),
                              profile_uneven(Sample{.blocks = n, .accesses = 0}, blocks),
                              profile_uneven(Sample{.blocks = 1, .accesses = 1}, blocks)}) {
      EXPECT_EQ(c.blocks_run, n);
      EXPECT_EQ(c.barriers, n * (n - 1) / 2);
    }
  }
}

TEST(ProfileSample, EndsWhenThereWereEnoughAccessesAndBlocks) {
  constexpr std::uint64_t kABlock = 2 * 32 * 32;  // a tile is read and written
  Shared<float> x(320 * 320), y(320 * 320);       // 100 blocks
  x.fill(1);
  for (const auto& [sample, blocks] : {std::pair{Sample{.blocks = 1, .accesses = 5 * kABlock}, 5u},
                                       {Sample{.blocks = 1, .accesses = 5 * kABlock + 1}, 6u},
                                       {Sample{.blocks = 8, .accesses = 5 * kABlock}, 8u}}) {
    Profiler profiler(sample);
    on_simt::transpose(Transpose::kNaive, x.data(), y.data(), 320, 320);
    const KernelProfile p = only_kernel(profiler);
    EXPECT_EQ(p.counters.blocks_run, blocks);
    EXPECT_EQ(p.counters.global_bytes(), 2u * 4 * 320 * 320);
    EXPECT_EQ(p.counters.global_sectors, 9u * 320 * 320 / 8);
    EXPECT_THAT(to_text(p), HasSubstr(fmt::format("scaled up from the {} blocks", blocks)));
  }
}

TEST(ProfileSample, OfNoBlockIsRefused) {
  EXPECT_THROW(Profiler(Sample{.blocks = 0, .accesses = 5}), Error);
  const Profiler another;  // the refused one does not listen
}

TEST(Profile, TextNamesEachSite) {
  const std::string text = to_text(profile_transpose(Transpose::kTiled, 32, 32));
  EXPECT_THAT(text, HasSubstr("tiled_kernel<0>"));
  EXPECT_THAT(text, HasSubstr("32.00"));
  EXPECT_THAT(text, HasSubstr("transpose.cu:"));
}

TEST(Profile, EverySiteHasALine) {
  const auto name = [](const profile::SourceLine& l) {
    return fmt::format("{}:{}", l.file, l.line);
  };
  const std::pair<const char*, const char*> cases[] = {
      {"0x1\n/t/kernel.cu:7\n", "kernel.cu:7"},
      {"0x1\n/t/kernel.cu:7 (discriminator 3)\n/t/kernel.cu:9\n", "kernel.cu:7"},
      {"0x1\n/t/common/simt/cpu/warp_operations.h:50\n/t/kernel.cu:9\n", "kernel.cu:9"},
      {"0x1\n/t/tile.h:?\n/t/kernel.cu:9\n", "kernel.cu:9"},  // of several lines, or of none
      {"0x1\n/t/tile.h:0\n/t/kernel.cu:9\n", "kernel.cu:9"},
      {"0x1\n/t/tile.h:?\n/usr/include/cmath:3\n/t/kernel.cu:9\n", "kernel.cu:9"},
      {"0x1\n/t/kernel.cu:?\n", "kernel.cu:0"},  // left to source_lines
      {"0x1\n??:0\n", "??:0"}};
  for (const auto& [text, want] : cases) {
    const std::vector<profile::SourceLine> lines = profile::parse_addr2line(text);
    ASSERT_EQ(lines.size(), 1u) << text;
    EXPECT_EQ(name(lines[0]), want) << text;
  }
  EXPECT_EQ(profile::parse_addr2line("0x1\na.cu:1\nb.cu:2\n0x2\nc.cu:3\n").at(1).line, 3);
}

// cost_of, by hand: addresses of 32 lanes as first + lane * stride.
profile::Request request(std::uintptr_t first, std::uintptr_t stride, int bytes,
                         std::uint32_t mask = 0xffffffffu) {
  profile::Request r;
  for (unsigned lane = 0; lane < 32; ++lane) {
    r.address[lane] = first + lane * stride;
    r.bytes[lane] = static_cast<std::uint8_t>(bytes);
  }
  r.mask = mask;
  return r;
}

struct CostCase {
  profile::Request request;
  Space space;
  int bytes;
  std::uint64_t cost, ideal, touched;
};

TEST(ProfileCost, SectorsAndWavefrontsOfKnownPatterns) {
  const CostCase cases[] = {
      {request(1024, 4, 4), Space::kGlobal, 4, 4, 4, 128},         // contiguous
      {request(1024 + 4, 4, 4), Space::kGlobal, 4, 5, 4, 128},     // contiguous, not aligned
      {request(1024, 0, 4), Space::kGlobal, 4, 1, 1, 4},           // broadcast
      {request(1024, 8, 4), Space::kGlobal, 4, 8, 4, 128},         // every other
      {request(1024, 128, 4), Space::kGlobal, 4, 32, 4, 128},      // a column
      {request(1024, 16, 16), Space::kGlobal, 16, 16, 16, 512},    // vectors
      {request(1024, 4, 4, 0xffff), Space::kGlobal, 4, 2, 2, 64},  // half a warp
      {request(1024, 30, 4), Space::kGlobal, 4, 30, 4, 128},   // lanes that straddle two sectors
      {request(1024, 4, 4), Space::kShared, 4, 1, 1, 128},     // one word a bank
      {request(1024, 0, 4), Space::kShared, 4, 1, 1, 4},       // broadcast
      {request(1024, 8, 4), Space::kShared, 4, 2, 1, 128},     // two words a bank
      {request(1024, 128, 4), Space::kShared, 4, 32, 1, 128},  // one bank
      {request(1024, 132, 4), Space::kShared, 4, 1, 1, 128},   // padded
      {request(1024, 2, 2), Space::kShared, 2, 1, 1, 64},      // two lanes a word
      {request(1024, 8, 8), Space::kShared, 8, 2, 2, 256},     // half warps
      {request(1024, 16, 16), Space::kShared, 16, 4, 4, 512},  // quarter warps
      {request(1024, 128, 16), Space::kShared, 16, 32, 4,
       512},                                                    // eight rows in the same four banks
      {request(1024, 144, 16), Space::kShared, 16, 4, 4, 512},  // the same, rows padded by 16 bytes
      {request(1024, 128, 16, 0xff), Space::kShared, 16, 8, 1, 128},  // ldmatrix x1
  };
  for (const CostCase& c : cases) {
    const profile::Cost cost = profile::cost_of(c.request, c.space, c.bytes);
    EXPECT_EQ(cost.cost, c.cost) << &c - cases;
    EXPECT_EQ(cost.ideal, c.ideal) << &c - cases;
    EXPECT_EQ(cost.bytes, c.touched) << &c - cases;
  }
}

}  // namespace
}  // namespace octavo::simt::examples
