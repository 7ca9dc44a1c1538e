#pragma once
// Streams and events. On cpu and simt a call has finished when it returns, so a stream holds
// nothing there and an event is a clock reading; on cuda they own the runtime's objects. A stream
// is always passed, never found in a global.

#include <cstdint>

#include "common/device/device.h"

namespace octavo {

class Event;

class Stream {
 public:
  explicit Stream(const Device& device);
  ~Stream();
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;

  void synchronize();             // returns when all work given to the stream is done
  void wait(const Event& event);  // later work of this stream starts after the event
  Backend backend() const { return backend_; }
  void* native() const { return native_; }  // the cudaStream_t on cuda; null elsewhere

 private:
  Backend backend_;
  int device_;
  void* native_ = nullptr;
};

class Event {
 public:
  explicit Event(const Device& device);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  void record(Stream& stream);  // marks this point of the stream
  void synchronize();           // returns when the stream has passed the mark

  // Seconds from `earlier` to this event. Both must have been recorded and passed.
  double seconds_since(const Event& earlier) const;
  void* native() const { return native_; }

 private:
  Backend backend_;
  int device_;
  void* native_ = nullptr;
  std::int64_t nanoseconds_ = 0;  // of the host's steady clock, where there is no native event
};

}  // namespace octavo
