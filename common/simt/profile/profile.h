#pragma once
// A profile without a GPU: what each access of a kernel costs in the units of the hardware.
//
// The 32 lanes of a warp make one request. To global memory it costs as many sectors (32 bytes, the
// unit of transfer) as it touches; the ideal is the bytes it touches, counted once, divided by 32.
// To shared memory it costs wavefronts: 32 banks serve one word of 4 bytes each, so a wavefront can
// serve lanes whose words lie in different banks or are the same; accesses of 8 and 16 bytes go in
// 2 and 4 parts of the warp. These are the counters that Nsight Compute calls sectors/request and
// wavefronts.
//
// Which accesses of 32 lanes belong together is a guess from order: the k-th execution of one place
// in the program by each lane is one request. It is right when the lanes of a warp go through the
// place equally often.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/simt/cpu/access.h"

namespace octavo::simt {

// What a kernel did, over all its launches; enough for a model of its time.
struct Counters {
  std::uint64_t launches = 0, blocks = 0, threads = 0;
  std::uint64_t blocks_run = 0;  // fewer than blocks: the other counts were scaled up from these
  std::uint64_t warp_operations = 0, barriers = 0;
  std::uint64_t mma = 0;        // warp-wide mma instructions
  std::uint64_t mma_flops = 0;  // 2 M N K each; scalar arithmetic is not counted
  std::uint64_t global_read_bytes = 0,
                global_write_bytes = 0;  // touched, once for each warp request
  std::uint64_t global_sectors = 0;      // x 32: bytes moved to and from the L2 cache
  std::uint64_t shared_wavefronts = 0;

  std::uint64_t global_bytes() const { return global_read_bytes + global_write_bytes; }
};

// One line of a kernel that touches memory in one way.
struct SiteProfile {
  std::string file;  // without folders
  int line = 0;
  AccessKind kind{};
  cpu::Space space{};  // kGlobal or kShared
  int bytes_per_lane = 0;
  std::uint64_t requests = 0;  // of a warp
  std::uint64_t cost = 0;      // sectors or wavefronts
  std::uint64_t ideal = 0;     // the fewest that could serve the same bytes
  std::uint64_t bytes = 0;     // touched, once for each request

  double ratio() const {
    return ideal == 0 ? 1 : static_cast<double>(cost) / static_cast<double>(ideal);
  }
};

struct KernelProfile {
  std::string kernel;  // demangled name
  Counters counters;
  std::vector<SiteProfile> sites;  // in order of file, line, kind, space
};

// When a profile has seen enough of a launch: after this many blocks and accesses of its threads.
// The blocks are spread over the grid, and their counts are scaled to all of it.
struct Sample {
  std::uint64_t blocks, accesses;
};

// Listens to all launches from its construction to its destruction; one at a time. The kernels must
// have been built for it (octavo_profile in CMake); they run on one worker. With a sample, launches
// may end early and leave outputs unfinished, except those that need their whole grid
// (LaunchConfig). Throws Error when another profiler is listening.
class Profiler {
 public:
  explicit Profiler(std::optional<Sample> sample = {});
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  std::vector<KernelProfile> kernels() const;  // in order of their first launch

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string_view name_of(AccessKind kind);
std::string to_text(const KernelProfile& profile);  // counters, then a table of the sites

}  // namespace octavo::simt
