#pragma once
// StreamTimer: seconds of the work put on a stream between start and stop. On a GPU it reads CUDA
// events, so the time of the host's calls is not in it; on the host it reads the steady clock.

#include "common/device/stream.h"

namespace octavo::bench {

class StreamTimer {
 public:
  explicit StreamTimer(const Device& device) : begin_(device), end_(device) {}

  void start(Stream& stream) { begin_.record(stream); }
  // Waits for the work to be done.
  double stop(Stream& stream) {
    end_.record(stream);
    end_.synchronize();
    return end_.seconds_since(begin_);
  }

 private:
  Event begin_, end_;
};

}  // namespace octavo::bench
