#include "common/testing/gpu.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "common/device/device.h"

namespace octavo::testing {

bool gpu_or_skip() {
  if (!cuda_devices().empty()) return true;
  const char* const required = std::getenv("OCTAVO_REQUIRE_GPU");
  if (required != nullptr && std::strcmp(required, "1") == 0) {
    ADD_FAILURE() << "OCTAVO_REQUIRE_GPU=1, but there is no CUDA device"
                  << (built_with_cuda() ? "" : " in this build");
  }
  return false;
}

}  // namespace octavo::testing
