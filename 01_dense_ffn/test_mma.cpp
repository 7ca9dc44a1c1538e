// The rules by which the tensor-core kernels choose their tile, and that the choice changes no bit.

#include <gtest/gtest.h>

#include "01_dense_ffn/mma_config.h"
#include "01_dense_ffn/topics.h"
#include "01_dense_ffn/versions.h"
#include "common/base/threads.h"
#include "common/device/gpu_spec.h"
#include "common/simt/executor.h"

namespace octavo::dense_ffn {
namespace {

TEST(MmaConfig, LargeTilesWhereTheyKeepAllMultiprocessorsBusy) {
  const Device a100 = kA100.device();                                   // 108 multiprocessors
  EXPECT_EQ(choose_config(512, 14336, a100), kMmaLarge);                // 4 x 112 tiles
  EXPECT_EQ(choose_config(128, 108 * 128, a100), kMmaLarge);            // one each
  EXPECT_EQ(choose_config(128, 107 * 128, a100), kMmaSmall);            // one would idle
  EXPECT_EQ(choose_config(128, 108 * 128, kH100.device()), kMmaSmall);  // it has 132
}

TEST(MmaConfig, SmallTilesForRowsThatWouldHalfFillALargeOne) {
  EXPECT_EQ(choose_config(64, 1 << 20, kA100.device()), kMmaSmall);
  EXPECT_EQ(choose_config(65, 1 << 20, kA100.device()), kMmaLarge);
  EXPECT_EQ(choose_config(1, 1, kA100.device()), kMmaSmall);
}

TEST(MmaConfig, SmallTilesWhereSharedMemoryIsShort) {
  Device device = kA100.device();
  device.shared_bytes = kMmaLarge.shared_bytes();
  EXPECT_EQ(choose_config(4096, 4096, device), kMmaLarge);
  --device.shared_bytes;
  EXPECT_EQ(choose_config(4096, 4096, device), kMmaSmall);
}

TEST(MmaConfig, LaunchCoversTheShape) {
  const LaunchConfig launch = mma_launch(kMmaLarge, 129, 257);
  EXPECT_EQ(launch.grid.x, 2);
  EXPECT_EQ(launch.grid.y, 3);
  EXPECT_EQ(launch.block.x, 256);
  EXPECT_EQ(launch.shared_bytes, 3 * 256 * 64 * 2);
  EXPECT_EQ(mma_launch(kMmaSmall, 129, 257).blocks(), 3 * 5);
}

// The bits of y on a device with so many multiprocessors. With one, every shape of more than 64
// rows gets large tiles; with the executor's 108 these small shapes do not.
template <class Shape, class Args>
std::vector<std::byte> bits(const testing::Topic<Shape, Args>& topic, const Shape& shape,
                            std::string_view version, int multiprocessors) {
  Registry registry;
  append_versions(registry);
  const Version<Args>& v = registry.find<Args>(topic.name, Backend::kSimt, version);
  testing::OperandSettings settings;
  settings.device = simt_device();
  settings.device.multiprocessors = multiprocessors;
  settings.compute = DType::kBF16;
  testing::Operands operands(settings);
  const Args args = topic.make(shape, operands);
  ThreadPool threads(1);
  Exec exec(settings.device, DType::kBF16, threads,
            v.workspace != nullptr ? v.workspace(args, settings.device) : 0);
  EXPECT_EQ(v.launches(args, settings.device).front().block.x,
            multiprocessors == 1 ? kMmaLarge.threads : kMmaSmall.threads);
  v.run(exec, args, Prepared());
  EXPECT_TRUE(operands.damage().empty());
  return operands.result_bytes("y");
}

TEST(MmaTiles, MatmulOfEitherTileHasTheSameBits) {
  for (const MatmulShape& shape : {MatmulShape{65, 129, 264}, MatmulShape{65, 129, 37}}) {
    const std::vector<std::byte> small = bits(matmul_topic(), shape, "gpu_v4_mma", 108);
    for (const simt::Options& options : simt::covering_schedules()) {
      const simt::ScopedOptions scope(options);
      EXPECT_EQ(bits(matmul_topic(), shape, "gpu_v4_mma", 1), small)
          << simt::name_of(options.schedule) << " " << options.seed;
    }
  }
}

TEST(MmaTiles, FfnOfEitherTileHasTheSameBits) {
  for (const FfnShape& shape : {FfnShape{65, 24, 72, Activation::kSilu, true, true},
                                FfnShape{66, 17, 133, Activation::kGeluErf, false, true}}) {
    const std::vector<std::byte> small = bits(ffn_topic(), shape, "gpu_v2_mma", 108);
    for (const simt::Options& options : simt::covering_schedules()) {
      const simt::ScopedOptions scope(options);
      EXPECT_EQ(bits(ffn_topic(), shape, "gpu_v2_mma", 1), small)
          << simt::name_of(options.schedule) << " " << options.seed;
    }
  }
}

}  // namespace
}  // namespace octavo::dense_ffn
