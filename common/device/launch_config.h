#pragma once
// The geometry of a kernel launch as data: computed by pure host functions, checked on any machine.

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/device/device.h"

namespace octavo {

struct LaunchConfig {
  std::string_view kernel = {};       // what a reader calls it
  std::int64_t grid[3] = {1, 1, 1};   // blocks along x, y, z
  std::int64_t block[3] = {1, 1, 1};  // threads along x, y, z
  std::int64_t shared_bytes = 0;      // dynamic shared memory a block

  std::int64_t blocks() const { return grid[0] * grid[1] * grid[2]; }
  std::int64_t threads() const { return block[0] * block[1] * block[2]; }
};

// Throws Error naming the kernel, the value and the limit when the device would refuse the launch:
// grid extents of at most 2^31 - 1, 65535, 65535; blocks of at most 1024 threads (64 along z);
// shared memory of at most device.shared_bytes. (CUDA C++ Programming Guide, appendix "Compute
// Capabilities"; the limits are those of every GPU since sm_70.)
void check_launch(const LaunchConfig& launch, const Device& device);

}  // namespace octavo
