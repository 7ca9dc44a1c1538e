#pragma once
// What this machine can do at best, measured: the roofs that rows are compared with. On a virtual
// machine they move, so they are probed again and again between the rows, and the best value seen
// counts. What one thread does is timed by its processor time, which a busy machine stretches less
// than the clock on the wall.

#include <cstdint>

#include "common/base/threads.h"
#include "common/base/work.h"
#include "common/device/buffer.h"

namespace octavo::bench {

struct Ceilings {
  double read_core = 0;       // bytes/s, one thread reading
  double read_bandwidth = 0;  // of all threads at once
  double copy_bandwidth = 0;  // bytes/s read plus bytes/s written, all threads
  double fma_core = 0;        // FLOP/s of one thread in fp32, 2 a fused multiply-add
  double fma_all = 0;         // of all threads at once
  int threads = 0;
  int samples = 0;

  // The least time this work takes on one thread, or on all: max(bytes / read bandwidth, FLOPs /
  // peak).
  double seconds(const Work& work, bool one_thread) const;
};

// Seconds of processor time that the calling thread has used.
double thread_seconds();

class CeilingProbe {
 public:
  static constexpr std::int64_t kBytes = std::int64_t{1}
                                         << 30;  // beyond any cache, reported or not

  // Allocates `bytes`, on huge pages where there are some, as weights are. Borrows the pool.
  explicit CeilingProbe(ThreadPool& pool, std::int64_t bytes = kBytes);

  // Measures each ceiling once, in a few tenths of a second.
  void sample();
  // Reads through the buffer, which leaves the caches without the operands of the row before.
  void scrub();
  const Ceilings& best() const { return best_; }

 private:
  double read_once();
  double read_core_once();
  double copy_once();

  ThreadPool& pool_;
  DeviceBuffer<float> buffer_;
  Ceilings best_;
};

}  // namespace octavo::bench
