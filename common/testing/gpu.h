#pragma once
// What a test that needs a GPU does first. It makes no CUDA call before that.

namespace octavo::testing {

inline constexpr char kNoGpu[] = "no CUDA device here";

// True when there is a CUDA device. Without one: false, and a failure of the running test when
// OCTAVO_REQUIRE_GPU=1. Use: if (!gpu_or_skip()) GTEST_SKIP() << kNoGpu;
bool gpu_or_skip();

}  // namespace octavo::testing
