#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "common/device/device.h"
#include "common/testing/gpu.h"

namespace octavo::testing {
namespace {

TEST(Gpu, AbsenceSkipsAndFailsOnlyWhenAGpuIsRequired) {
  if (!cuda_devices().empty()) GTEST_SKIP() << "there is a GPU here";
  ASSERT_EQ(unsetenv("OCTAVO_REQUIRE_GPU"), 0);
  EXPECT_FALSE(gpu_or_skip());
  ASSERT_EQ(setenv("OCTAVO_REQUIRE_GPU", "0", 1), 0);
  EXPECT_FALSE(gpu_or_skip());
  ASSERT_EQ(setenv("OCTAVO_REQUIRE_GPU", "1", 1), 0);
  EXPECT_NONFATAL_FAILURE(gpu_or_skip(), "OCTAVO_REQUIRE_GPU=1");
}

}  // namespace
}  // namespace octavo::testing
