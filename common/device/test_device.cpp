#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.h"
#include "common/device/device.h"
#include "common/device/gpu_spec.h"
#include "common/device/launch_config.h"

namespace octavo {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Backend, NamesGoBothWays) {
  for (Backend b : {Backend::kCpu, Backend::kCuda, Backend::kSimt})
    EXPECT_EQ(backend_from(name_of(b)), b);
  EXPECT_THAT([] { backend_from("gpu"); },
              ThrowsMessage<Error>(HasSubstr("'gpu': there are cpu, cuda and simt")));
}

TEST(DTypeSet, HoldsWhatItWasGiven) {
  constexpr DTypeSet set = {DType::kF32, DType::kBF16};
  EXPECT_TRUE(set.contains(DType::kF32));
  EXPECT_FALSE(set.contains(DType::kF16));
  EXPECT_TRUE(DTypeSet{}.empty());
  EXPECT_EQ(names_of(set), "F32 BF16");
}

TEST(Devices, TheHostAndTheExecutorAreAlwaysThere) {
  const std::vector<Device> all = devices();
  ASSERT_GE(all.size(), 2u);
  EXPECT_EQ(all[0].backend, Backend::kCpu);
  EXPECT_FALSE(all[0].name.empty());
  EXPECT_GE(all[0].multiprocessors, 1);
  EXPECT_GT(all[0].memory_bytes, std::int64_t{1} << 28);
  EXPECT_EQ(all[1].backend, Backend::kSimt);
  EXPECT_EQ(all[1].compute_capability, 80);
  EXPECT_EQ(all.size(), 2 + cuda_devices().size());
}

TEST(Devices, AskingForAGpuThatIsNotThereSaysWhy) {
  if (!cuda_devices().empty()) {
    EXPECT_EQ(device_of(Backend::kCuda).backend, Backend::kCuda);
    return;
  }
  EXPECT_THAT(
      [] { device_of(Backend::kCuda); },
      ThrowsMessage<Error>(HasSubstr(built_with_cuda() ? "no CUDA device" : "has no CUDA")));
}

TEST(CheckLaunch, RefusesWhatAGpuRefuses) {
  const Device a100 = kA100.device();
  const LaunchConfig good = {
      .kernel = "k", .grid = {1, 1, 1}, .block = {1024, 1, 1}, .shared_bytes = 163 * 1024};
  EXPECT_NO_THROW(check_launch(good, a100));
  LaunchConfig bad = good;
  bad.grid.y = 65536;
  EXPECT_THAT([&] { check_launch(bad, a100); },
              ThrowsMessage<Error>(
                  HasSubstr("kernel k: 65536 blocks along y, the limits are 1 and 65535")));
  bad = good;
  bad.grid.x = 0;
  EXPECT_THROW(check_launch(bad, a100), Error);
  bad = good;
  bad.block.y = 2;
  EXPECT_THAT([&] { check_launch(bad, a100); },
              ThrowsMessage<Error>(HasSubstr("2048 threads a block")));
  bad = good;
  bad.block.z = 65;
  EXPECT_THROW(check_launch(bad, a100), Error);
  bad = good;
  ++bad.shared_bytes;
  EXPECT_THAT([&] { check_launch(bad, a100); },
              ThrowsMessage<Error>(HasSubstr("the limit of A100 is 166912")));
  EXPECT_NO_THROW(check_launch(bad, kH100.device()));
}

TEST(CheckLaunch, AGridIsCountedInMoreThan32Bits) {
  LaunchConfig l = {.kernel = "k", .grid = {1}, .block = {32}};
  EXPECT_NO_THROW(check_geometry(l));
  l.grid.x = (std::int64_t{1} << 32) + 1;
  EXPECT_THAT([&] { check_geometry(l); }, ThrowsMessage<Error>(HasSubstr("4294967297 blocks")));
  l.grid.x = -1;
  EXPECT_THROW(check_geometry(l), Error);
}

TEST(GpuModel, TheLargestOfTheThreeTermsIsTheTime) {
  const Work memory = {.flops = 1e9, .bytes = 2039e9}, maths = {.flops = 312e12, .bytes = 1e9};
  EXPECT_DOUBLE_EQ(model_seconds(kA100, memory, DType::kBF16, 1), 1.0);
  EXPECT_DOUBLE_EQ(model_seconds(kA100, maths, DType::kBF16, 1), 1.0);
  EXPECT_DOUBLE_EQ(model_seconds(kA100, maths, DType::kF32, 1), 16.0);
  EXPECT_DOUBLE_EQ(model_seconds(kA100, {}, DType::kBF16, 5), 15e-6);
  EXPECT_EQ(gpu_specs().size(), 3u);
}

}  // namespace
}  // namespace octavo
