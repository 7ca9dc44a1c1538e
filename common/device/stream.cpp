#include "common/device/stream.h"

#include <chrono>
#include <utility>

#include "common/device/cuda_backend.h"

namespace octavo {

Stream::Stream(const Device& device) : backend_(device.backend), device_(device.index) {
  if (backend_ == Backend::kCuda) native_ = cuda::make_stream(device_);
}

Stream::~Stream() {
  if (native_ != nullptr) cuda::destroy_stream(device_, native_);
}

Stream::Stream(Stream&& other) noexcept
    : backend_(other.backend_),
      device_(other.device_),
      native_(std::exchange(other.native_, nullptr)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(backend_, other.backend_);
  std::swap(device_, other.device_);
  std::swap(native_, other.native_);
  return *this;
}

void Stream::synchronize() {
  if (native_ != nullptr) cuda::synchronize(native_);
}

void Stream::wait(const Event& event) {
  if (native_ != nullptr) cuda::wait(native_, event.native());
}

Event::Event(const Device& device) : backend_(device.backend), device_(device.index) {
  if (backend_ == Backend::kCuda) native_ = cuda::make_event(device_);
}

Event::~Event() {
  if (native_ != nullptr) cuda::destroy_event(device_, native_);
}

Event::Event(Event&& other) noexcept
    : backend_(other.backend_),
      device_(other.device_),
      native_(std::exchange(other.native_, nullptr)),
      nanoseconds_(other.nanoseconds_) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(backend_, other.backend_);
  std::swap(device_, other.device_);
  std::swap(native_, other.native_);
  std::swap(nanoseconds_, other.nanoseconds_);
  return *this;
}

void Event::record(Stream& stream) {
  if (native_ != nullptr) {
    cuda::record(native_, stream.native());
  } else {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    nanoseconds_ = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  }
}

void Event::synchronize() {
  if (native_ != nullptr) cuda::synchronize_event(native_);
}

double Event::seconds_since(const Event& earlier) const {
  if (native_ != nullptr) return cuda::seconds_between(earlier.native_, native_);
  return static_cast<double>(nanoseconds_ - earlier.nanoseconds_) * 1e-9;
}

}  // namespace octavo
