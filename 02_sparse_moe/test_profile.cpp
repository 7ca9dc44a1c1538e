// The traffic of the kernels against the formulas in their headers.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "02_sparse_moe/experts_config.h"
#include "02_sparse_moe/topics.h"
#include "02_sparse_moe/versions.h"
#include "common/testing/profile_table.h"

namespace octavo::sparse_moe {
namespace {

using simt::Counters;
using simt::KernelProfile;

template <class Shape, class Args>
std::vector<KernelProfile> profile(const testing::Topic<Shape, Args>& topic, const Shape& shape,
                                   std::string_view version) {
  Registry registry;
  append_versions(registry);
  return testing::profile_of(topic, shape, registry.find<Args>(topic.name, Backend::kSimt, version),
                             DType::kBF16);
}

// Where rows of x, of weights, of H and of results are moved. The other lines read the plan, a few
// bytes a block.
bool moves_data(const simt::SiteProfile& s) { return s.bytes_per_lane >= 8; }

// Bytes that a kernel reads where it moves data.
double data_read(const KernelProfile& p) {
  double bytes = 0;
  for (const simt::SiteProfile& s : p.sites) {
    const bool load = s.kind == simt::AccessKind::kLoad || s.kind == simt::AccessKind::kCopyFrom;
    if (moves_data(s) && load && s.space == simt::cpu::Space::kGlobal)
      bytes += static_cast<double>(s.bytes);
  }
  return bytes;
}

void expect_ideal(const KernelProfile& p, std::size_t sites) {
  std::size_t found = 0;
  for (const simt::SiteProfile& s : p.sites) {
    if (!moves_data(s)) continue;
    ++found;
    EXPECT_EQ(s.ratio(), 1.0) << s.file << ":" << s.line << "\n" << to_text(p);
  }
  EXPECT_EQ(found, sites) << to_text(p);
}

// All rows to one expert, so that the tiles are full.
void expect_tiles(std::int64_t T, const dense_ffn::MmaConfig& tile, bool gated) {
  constexpr std::int64_t kD = 512, kColumns = 384, kE = 2;  // columns of gate and up together
  const std::int64_t F = gated ? kColumns / 2 : kColumns;
  const ExpertsShape shape = {T, 1, kE, kD, F, Spread::kOne, Activation::kSilu, gated};
  const ExpertsArgs args = args_of_shape(experts_topic(), shape, DType::kBF16);
  ASSERT_EQ(choose_tile(args.slots(), kE, kColumns, testing::small_simt_device()), tile);
  const std::vector<KernelProfile> kernels = profile(experts_topic(), shape, "gpu_v3_tiles");
  ASSERT_EQ(kernels.size(), 3u);
  const Counters &hidden = kernels[0].counters, &down = kernels[1].counters,
                 &sum = kernels[2].counters;
  // cp.async's two sides, ldmatrix of both operands, H, and where the tile's rows of x begin, which
  // the block keeps in shared memory: put there and looked up.
  expect_ideal(kernels[0], 7);
  expect_ideal(kernels[1], 5);
  expect_ideal(kernels[2], 2);
  const auto m = static_cast<double>(tile.m), n = static_cast<double>(tile.n);
  const auto t = static_cast<double>(T), f = static_cast<double>(F);
  const auto bytes = [&](double columns, double K) {
    return 2 * t * columns * K * (1 / m + 1 / n);
  };
  EXPECT_EQ(data_read(kernels[0]), bytes(kColumns, kD));
  EXPECT_EQ(data_read(kernels[1]), bytes(kD, f));
  EXPECT_NEAR(static_cast<double>(hidden.global_read_bytes), bytes(kColumns, kD),
              0.05 * bytes(kColumns, kD));
  EXPECT_EQ(static_cast<double>(hidden.global_write_bytes), 2 * t * f);
  EXPECT_NEAR(static_cast<double>(down.global_read_bytes), bytes(kD, f), 0.05 * bytes(kD, f));
  EXPECT_EQ(static_cast<double>(down.global_write_bytes), 4 * t * kD);
  EXPECT_EQ(static_cast<double>(hidden.mma_flops + down.mma_flops), 2 * t * kD * (kColumns + f));
  EXPECT_NEAR(static_cast<double>(sum.global_bytes()), 8 * t * kD, 0.05 * 8 * t * kD);
}

TEST(Profile, TilesMoveWhatTheirFormulaSays) {
  expect_tiles(128, kTileLarge, true);
  expect_tiles(128, kTileLarge, false);
  expect_tiles(64, kTileSmall, true);
}

// Loads of 16 bytes at one line and stores to the device's memory at one, without a sector too
// many; nothing in shared memory waits for a bank.
void expect_loads_and_stores(const KernelProfile& p) {
  std::size_t loads = 0, store_sites = 0;
  for (const simt::SiteProfile& s : p.sites) {
    if (s.space == simt::cpu::Space::kShared) {
      EXPECT_EQ(s.ratio(), 1.0) << s.file << ":" << s.line << "\n" << to_text(p);
      continue;
    }
    const bool store = s.kind == simt::AccessKind::kStore;
    if (!store && s.bytes_per_lane != 16) continue;
    ++(store ? store_sites : loads);
    EXPECT_EQ(s.ratio(), 1.0) << s.file << ":" << s.line << "\n" << to_text(p);
  }
  EXPECT_EQ(loads, 1u) << to_text(p);
  EXPECT_EQ(store_sites, 1u) << to_text(p);
}

// A weight of an expert that is reached leaves the memory once, however many tokens share it.
TEST(Profile, DecodeReadsTheWeightsOfTheExpertsThatAreReachedOnce) {
  constexpr ExpertsShape kShape = {6, 2, 3, 384, 384, Spread::kEven};
  std::set<int> reached;
  for (std::int64_t s = 0; s < kShape.T * kShape.k; ++s)
    reached.insert(id_of_slot(kShape.spread, s / kShape.k, s % kShape.k, kShape.k, kShape.E));
  const std::vector<KernelProfile> kernels = profile(experts_topic(), kShape, "gpu_v4_decode");
  ASSERT_EQ(kernels.size(), 3u);
  for (const KernelProfile& p : kernels) expect_loads_and_stores(p);
  const auto experts = static_cast<double>(reached.size());
  const auto slots = static_cast<double>(kShape.T * kShape.k);
  const double D = kShape.D, F = kShape.F;
  // A block of 16 columns of H reads its expert's rows of x for gate and for up, one of 16 columns
  // of the result its rows of H.
  const double hidden = experts * 2 * 2 * F * D + slots * F / 16 * 2 * 2 * D;
  const double down = experts * 2 * D * F + slots * D / 16 * 2 * F;
  EXPECT_EQ(data_read(kernels[0]), hidden);
  EXPECT_EQ(data_read(kernels[1]), down);
  EXPECT_NEAR(static_cast<double>(kernels[0].counters.global_read_bytes), hidden, 0.05 * hidden);
  EXPECT_NEAR(static_cast<double>(kernels[1].counters.global_read_bytes), down, 0.05 * down);
}

// What each rung is for, in bytes read: v1 reads for every product, v2 for padding too, v3 for
// tiles.
TEST(Profile, PaddingCostsWhatTheTilesSave) {
  constexpr ExpertsShape kShape = {32, 2, 4, 64, 32, Spread::kEven};
  const auto total = [&](std::string_view version) {
    return testing::totals_of(profile(experts_topic(), kShape, version));
  };
  const testing::ProfileTotals loop = total("gpu_v1_loop"), padded = total("gpu_v2_padded"),
                               tiles = total("gpu_v3_tiles");
  EXPECT_EQ(loop.launches, 2u * 4 + 1);
  EXPECT_EQ(padded.launches, 4u);
  EXPECT_EQ(tiles.launches, 3u);
  EXPECT_GT(loop.read, 5 * tiles.read);
  EXPECT_GE(padded.mma, 2 * tiles.mma);
}

// Code that the compiler made of several lines has one too.
TEST(Profile, EverySiteOfTheKernelsHasALine) {
  Registry registry;
  append_versions(registry);
  const auto expect_lines = [&](const auto& topic, const auto& shape, const auto& versions) {
    for (const auto& v : versions) {
      if (v.backend != Backend::kSimt) continue;
      for (const KernelProfile& k : testing::profile_of(topic, shape, v, DType::kBF16)) {
        for (const simt::SiteProfile& s : k.sites) EXPECT_GT(s.line, 0) << v.name << to_text(k);
      }
    }
  };
  expect_lines(gating_topic(), GatingShape{8, 64, 8}, registry.versions<GatingArgs>("gating"));
  expect_lines(align_topic(), AlignShape{64, 2, 8}, registry.versions<AlignArgs>("align"));
  expect_lines(experts_topic(), ExpertsShape{8, 2, 4, 128, 64},
               registry.versions<ExpertsArgs>("experts"));
}

// Three chunks, the last of them not full, and slots that go nowhere.
TEST(Profile, ASortMovesWhatItsHeadersSay) {
  constexpr std::int64_t kChunks = 3, kE = 32, kSlots = 2 * 1100;
  const auto total = [](std::string_view version) {
    return testing::totals_of(profile(align_topic(), {1100, 2, kE, Spread::kHoles}, version));
  };
  const auto bytes = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  const testing::ProfileTotals one = total("gpu_v1_block"), two = total("gpu_v2_chunks");
  EXPECT_EQ(bytes(one.read), 8 * kSlots);
  EXPECT_EQ(bytes(one.written), 4 * kSlots + 4 * (kE + 1));
  // Of the 20 E a chunk the scan's reads are not counted, since it writes what it reads; each of 8
  // warps also asks where the slots end.
  EXPECT_EQ(bytes(two.read), 12 * kSlots + 8 * kE * kChunks + 4 * 8 * kChunks);
  EXPECT_EQ(bytes(two.written), 4 * kSlots + 4 * (kE + 1) + 8 * kE * kChunks);
}

TEST(Profile, GatingReadsEveryLogitOnce) {
  for (const GatingShape& shape : {GatingShape{64, 8, 2}, GatingShape{32, 64, 8},
                                   GatingShape{16, 256, 8}, GatingShape{8, 1024, 4}}) {
    const std::vector<KernelProfile> kernels = profile(gating_topic(), shape, "gpu_v2_rows");
    ASSERT_EQ(kernels.size(), 1u);
    std::uint64_t bytes = 0;
    for (const simt::SiteProfile& s : kernels[0].sites) {
      if (s.bytes_per_lane != 16) continue;
      EXPECT_EQ(s.ratio(), 1.0) << to_text(kernels[0]);
      bytes += s.bytes;
    }
    EXPECT_EQ(static_cast<std::int64_t>(bytes), 4 * shape.T * shape.E);
  }
}

}  // namespace
}  // namespace octavo::sparse_moe
