#include "common/device/launch_config.h"

#include "common/base/error.h"

namespace octavo {

void check_geometry(const LaunchConfig& launch) {
  constexpr std::int64_t kGrid[3] = {INT64_C(0x7fffffff), 65535, 65535};
  constexpr std::int64_t kBlock[3] = {1024, 1024, 64};
  constexpr std::int64_t kThreads = 1024;
  constexpr char kAxis[] = "xyz";
  const std::int64_t grid[3] = {launch.grid.x, launch.grid.y, launch.grid.z};
  const std::int64_t block[3] = {launch.block.x, launch.block.y, launch.block.z};
  for (int a = 0; a < 3; ++a) {
    require(grid[a] >= 1 && grid[a] <= kGrid[a],
            "kernel {}: {} blocks along {}, the limits are 1 and {}", launch.kernel, grid[a],
            kAxis[a], kGrid[a]);
    require(block[a] >= 1 && block[a] <= kBlock[a],
            "kernel {}: {} threads along {}, the limits are 1 and {}", launch.kernel, block[a],
            kAxis[a], kBlock[a]);
  }
  require(launch.threads() <= kThreads, "kernel {}: {} threads a block, the limit is {}",
          launch.kernel, launch.threads(), kThreads);
}

void check_launch(const LaunchConfig& launch, const Device& device) {
  check_geometry(launch);
  require(launch.shared_bytes >= 0 && launch.shared_bytes <= device.shared_bytes,
          "kernel {}: {} bytes of shared memory a block, the limit of {} is {}", launch.kernel,
          launch.shared_bytes, device.name, device.shared_bytes);
}

}  // namespace octavo
