#pragma once
// The geometry of a kernel launch as data: computed by pure host functions, checked on any machine.

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/device/device.h"

namespace octavo {

// How many tiles of `tile` cover n.
constexpr std::int64_t ceil_div(std::int64_t n, std::int64_t tile) { return (n + tile - 1) / tile; }

// What is left out is 1.
struct Extent3 {
  std::int64_t x = 1, y = 1, z = 1;
  std::int64_t count() const { return x * y * z; }
};

struct LaunchConfig {
  std::string_view kernel = {};   // what a reader calls it
  Extent3 grid = {};              // blocks
  Extent3 block = {};             // threads
  std::int64_t shared_bytes = 0;  // dynamic shared memory a block
  // Some of its blocks cannot stand for all: they wait for each other, or what they write steers
  // where this or a later launch reads and writes. Profiles then run every block.
  bool needs_whole_grid = false;

  std::int64_t blocks() const { return grid.count(); }
  std::int64_t threads() const { return block.count(); }
};

// Throws Error naming the kernel, the value and the limit when a grid or its blocks are none: grid
// extents of at most 2^31 - 1, 65535, 65535; blocks of at most 1024 threads (64 along z). (CUDA C++
// Programming Guide, appendix "Compute Capabilities"; the limits are those of every GPU since
// sm_70.) Every launch asks: CUDA counts in 32 bits, where 2^32 + 1 blocks would be one.
void check_geometry(const LaunchConfig& launch);

// The same, and shared memory of at most device.shared_bytes: all that a device refuses.
void check_launch(const LaunchConfig& launch, const Device& device);

}  // namespace octavo
