// What the contract does not ask of the kernels: launch choices, index arithmetic, every tile on
// every edge, operands that start anywhere, and the same bits run after run.

#include <gtest/gtest.h>

#include <cmath>

#include "02_sparse_moe/experts_config.h"
#include "02_sparse_moe/experts_params.h"
#include "02_sparse_moe/gating_params.h"
#include "02_sparse_moe/topics.h"
#include "02_sparse_moe/versions.h"
#include "common/device/gpu_spec.h"
#include "common/simt/executor.h"
#include "common/testing/contract.h"

namespace octavo::sparse_moe {
namespace {

using testing::Operands;

TEST(Gating, TheFirstIsTheLargerScoreAndOnATieTheLowerId) {
  EXPECT_TRUE(before({2, 7}, {1, 3}));
  EXPECT_FALSE(before({1, 3}, {2, 7}));
  EXPECT_TRUE(before({1, 3}, {1, 7}));
  EXPECT_FALSE(before({1, 3}, {1, 3}));
  EXPECT_TRUE(before({-INFINITY, 1023}, {-INFINITY, kNobody}));
}

TEST(Experts, IndicesPass31Bits) {
  EXPECT_EQ(row_start(131072, 16384), std::size_t{1} << 31);  // T k D
  EXPECT_EQ(row_start(INT32_MAX, INT32_MAX), std::size_t{INT32_MAX} * INT32_MAX);
  EXPECT_EQ(row_start(255, 2047, 2048, 7168),
            std::size_t{524287} * 7168);  // DeepSeek-V3's last row
  const ExpertsParams<bf16> a = {.x = nullptr,
                                 .gate = nullptr,
                                 .up = nullptr,
                                 .down = nullptr,
                                 .offsets = nullptr,
                                 .order = nullptr,
                                 .hidden = nullptr,
                                 .slot_y = nullptr,
                                 .k = 8,
                                 .E = 256,
                                 .D = 7168,
                                 .F = 2048,
                                 .activation = Activation::kSilu};
  const auto address = [](const bf16* p) { return reinterpret_cast<std::uintptr_t>(p); };
  EXPECT_EQ(address(a.layer(255, 0, 1).up), std::uintptr_t{255} * 2048 * 7168 * 2);
  EXPECT_EQ(address(a.layer(0, 2000000, 1).hidden), std::uintptr_t{2000000} * 2048 * 2);
}

// The most tiles over all ways to spread the slots, by going through them.
std::int64_t most_tiles_by_search(std::int64_t slots, std::int64_t E, std::int64_t m) {
  if (E == 0) return slots == 0 ? 0 : INT32_MIN;
  std::int64_t most = INT32_MIN;
  for (std::int64_t here = 0; here <= slots; ++here) {
    most = std::max(most, ceil_div(here, m) + most_tiles_by_search(slots - here, E - 1, m));
  }
  return most;
}

TEST(ExpertsConfig, TheListHasRoomForEverySpreadAndNoMore) {
  for (std::int64_t m : {1, 2, 3}) {
    for (std::int64_t E : {1, 2, 3}) {
      for (std::int64_t slots = 0; slots < 10; ++slots)
        EXPECT_EQ(most_tiles(slots, E, m), most_tiles_by_search(slots, E, m)) << slots << E << m;
    }
  }
}

TEST(ExpertsConfig, LargeTilesForManyRowsAnExpertOnAGpuThatTheyFill) {
  const Device a100 = kA100.device();  // 108 multiprocessors
  EXPECT_EQ(choose_tile(64 * 8, 8, 28672, a100), kTileLarge);
  EXPECT_EQ(choose_tile(64 * 8 - 1, 8, 28672, a100), kTileSmall);  // less than half of a tile each
  EXPECT_EQ(choose_tile(64 * 8, 8, 128, a100), kTileSmall);        // 11 tiles
  Device device = a100;
  device.multiprocessors = 11;
  EXPECT_EQ(choose_tile(64 * 8, 8, 128, device), kTileLarge);
  device = a100;
  device.shared_bytes = kTileLarge.shared_bytes();
  EXPECT_EQ(choose_tile(64 * 8, 8, 28672, device), kTileLarge);
  --device.shared_bytes;
  EXPECT_EQ(choose_tile(64 * 8, 8, 28672, device), kTileSmall);
}

TEST(ExpertsConfig, LaunchesCoverTheListAndAreLegalForRealModels) {
  const LaunchConfig l = tile_launch("", kTileSmall, 100, 8, 200);
  EXPECT_EQ(l.grid.x, 8 + 92 / 32);
  EXPECT_EQ(l.grid.y, 4);
  EXPECT_EQ(l.shared_bytes, 3 * (32 + 64) * 64 * 2);
  Registry registry;
  append_versions(registry);
  for (const ExpertsShape& shape : {ExpertsShape{65536, 2, 8, 4096, 14336},   // Mixtral
                                    ExpertsShape{65536, 8, 256, 7168, 2048},  // DeepSeek-V3
                                    ExpertsShape{1, 8, 256, 7168, 2048}}) {
    const ExpertsArgs args = args_of_shape(experts_topic(), shape, DType::kBF16);
    for (const Version<ExpertsArgs>& v : registry.versions<ExpertsArgs>("experts")) {
      if (v.backend != Backend::kSimt) continue;
      for (const Device& gpu : {kA100.device(), kH100.device()}) {
        if (v.supports != nullptr && !v.supports(args, gpu)) continue;
        for (const LaunchConfig& launch : v.launches(args, gpu)) check_launch(launch, gpu);
      }
    }
  }
}

// The few rows may all go to one expert; with more, an even spread gives each of 32 experts 4.
TEST(ExpertsConfig, TheDecodeVersionIsForFewRowsOrFewSlotsAnExpert) {
  const auto registry = registry_of(append_versions);
  const auto picked = [&](std::int64_t T, std::int64_t k, std::int64_t E) {
    const ExpertsArgs args = args_of_shape(experts_topic(), {T, k, E, 64, 64}, DType::kBF16);
    return registry->pick<ExpertsArgs>("experts", args, simt_device(), DType::kBF16).name;
  };
  EXPECT_EQ(picked(16, 2, 4), "gpu_v4_decode");
  EXPECT_EQ(picked(17, 2, 4), "gpu_v3_tiles");
  EXPECT_EQ(picked(64, 2, 32), "gpu_v4_decode");
  EXPECT_EQ(picked(65, 2, 32), "gpu_v3_tiles");
}

// One version on the executor with so many multiprocessors; a complaint is a failure. Returns y.
std::vector<std::byte> run(std::string_view version, const ExpertsShape& shape, DType compute,
                           int multiprocessors = 108) {
  Registry registry;
  append_versions(registry);
  const auto& v = registry.find<ExpertsArgs>("experts", Backend::kSimt, version);
  testing::OperandSettings settings;
  settings.device = simt_device();
  settings.device.multiprocessors = multiprocessors;
  settings.compute = compute;
  Operands operands(settings);
  const ExpertsArgs args = experts_topic().make(shape, operands);
  if (v.supports != nullptr && !v.supports(args, settings.device)) return {};
  for (const std::string& complaint : testing::detail::run_version(v, args, operands))
    ADD_FAILURE() << version << ": " << complaint;
  for (const std::string& complaint : operands.damage()) ADD_FAILURE() << version << complaint;
  const std::vector<double> got = operands.result("y");
  const std::vector<double> want = experts_topic().reference(shape, operands).at("y");
  const std::vector<float> g(got.begin(), got.end()), w(want.begin(), want.end());
  const testing::Comparison c =
      testing::compare(g.data(), w.data(), static_cast<std::int64_t>(g.size()),
                       experts_topic().tolerance(shape, compute));
  EXPECT_TRUE(c.ok) << version << " " << experts_topic().describe(shape) << ": " << c.message;
  return operands.result_bytes("y");
}

// All rows to one expert, so that T is the number of rows of its tiles.
TEST(Experts, RowsAroundEveryTile) {
  for (std::int64_t T = 1; T <= 17; ++T) {
    const ExpertsShape shape = {T, 1, 3, 16, 8, Spread::kOne};
    run("gpu_v1_loop", shape, DType::kF32);
    run("gpu_v3_tiles", shape, DType::kBF16);
    run("gpu_v4_decode", shape, DType::kF32);
    run("gpu_v4_decode", shape, DType::kBF16);
  }
  for (std::int64_t T : {31, 32, 33, 63, 64, 65, 127, 128, 129}) {
    const ExpertsShape shape = {T, 1, 3, 16, 8, Spread::kOne};
    run("gpu_v2_padded", shape, DType::kBF16);
    run("gpu_v3_tiles", shape, DType::kBF16);
    run("gpu_v4_decode", {T / 4, 4, 36, 16, 8, Spread::kOne}, DType::kBF16);  // many in one expert
  }
}

// A warp looks for its tile among 32 experts at a time, the sum owns 512 columns a block.
TEST(Experts, MoreExpertsThanLanesAndMoreColumnsThanABlockOfTheSum) {
  for (const ExpertsShape& shape : {ExpertsShape{20, 2, 70, 16, 8}, ExpertsShape{2, 2, 3, 1032, 8},
                                    ExpertsShape{2, 1, 3, 513, 8, Spread::kHoles}}) {
    run("gpu_v1_loop", shape, DType::kF32);
    run("gpu_v2_padded", shape, DType::kBF16);
    run("gpu_v3_tiles", shape, DType::kBF16);
    run("gpu_v4_decode", shape, DType::kBF16);
  }
}

// With one multiprocessor large tiles fill the GPU.
TEST(Experts, BothTilesHaveTheSameBitsInEverySchedule) {
  for (const ExpertsShape& shape :
       {ExpertsShape{131, 2, 3, 72, 40, Spread::kSkew},
        ExpertsShape{130, 2, 3, 37, 21, Spread::kHoles, Activation::kGeluErf, false}}) {
    const std::vector<std::byte> small = run("gpu_v3_tiles", shape, DType::kBF16);
    const ExpertsArgs args = args_of_shape(experts_topic(), shape, DType::kBF16);
    const std::int64_t columns = shape.F * (shape.gated ? 2 : 1);
    EXPECT_EQ(choose_tile(args.slots(), shape.E, columns, simt_device()), kTileSmall);
    Device one = simt_device();
    one.multiprocessors = 1;
    EXPECT_EQ(choose_tile(args.slots(), shape.E, columns, one), kTileLarge);
    for (const simt::Options& options : simt::covering_schedules()) {
      const simt::ScopedOptions scope(options);
      EXPECT_EQ(run("gpu_v3_tiles", shape, DType::kBF16, 1), small)
          << simt::name_of(options.schedule) << " " << options.seed;
    }
  }
}

TEST(Experts, TwentyRunsHaveTheSameBits) {
  constexpr ExpertsShape kShape = {16, 2, 8, 24, 16, Spread::kSkew};
  for (const std::string_view version : {"gpu_v3_tiles", "gpu_v4_decode"}) {
    const std::vector<std::byte> first = run(version, kShape, DType::kBF16);
    for (int i = 1; i < 20; ++i) EXPECT_EQ(run(version, kShape, DType::kBF16), first) << version;
  }
}

}  // namespace
}  // namespace octavo::sparse_moe
