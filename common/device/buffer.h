#pragma once
// DeviceBuffer<T>: the move-only owner of memory on a device, and the copies in and out of it. A
// copy is always a call with a stream; nothing is copied behind the reader's back.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/view.h"
#include "common/device/device.h"
#include "common/device/stream.h"

namespace octavo {

namespace detail {
void* allocate_bytes(const Device& device,
                     std::size_t bytes);  // 256-byte aligned; Error when there is not enough
void release_bytes(Backend backend, int index, void* memory) noexcept;
}  // namespace detail

// Copies bytes between host and device in either direction, or on one device. On cuda the call may
// return before the copy is done: both sides must live, and the source keep its value, until the
// stream has passed it.
void copy_bytes(void* to, const void* from, std::size_t bytes, Stream& stream);

// Sets bytes on the stream's device.
void fill_bytes(void* memory, std::uint8_t byte, std::size_t bytes, Stream& stream);

template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory holds plain data");

 public:
  DeviceBuffer() = default;
  // Room for `count` elements, not initialised. Throws Error when count < 0 or the memory is not
  // there.
  DeviceBuffer(const Device& device, std::int64_t count)
      : backend_(device.backend), index_(device.index) {
    require(count >= 0 && count <= INT64_MAX / static_cast<std::int64_t>(sizeof(T)),
            "device buffer: a count of {} elements of {} bytes", count, sizeof(T));
    count_ = count;
    if (count > 0) {
      data_ = static_cast<T*>(detail::allocate_bytes(device, static_cast<std::size_t>(bytes())));
    }
  }
  ~DeviceBuffer() { detail::release_bytes(backend_, index_, data_); }
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    DeviceBuffer moved(std::move(other));
    swap(moved);
    return *this;
  }

  T* data() const { return data_; }
  std::int64_t size() const { return count_; }
  std::int64_t bytes() const { return count_ * static_cast<std::int64_t>(sizeof(T)); }
  Backend backend() const { return backend_; }

  // The buffer seen with these extents. Throws Error unless their product is size().
  template <int R>
  View<T, R> view(const std::int64_t (&extents)[R]) const {
    typename View<T, R>::Extents e{};
    for (int a = 0; a < R; ++a) e[static_cast<std::size_t>(a)] = extents[a];
    const View<T, R> v(data_, e);
    require(v.size() == count_, "a view of {} elements on a buffer of {}", v.size(), count_);
    return v;
  }

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    std::swap(backend_, other.backend_);
    std::swap(index_, other.index_);
  }

  T* data_ = nullptr;
  std::int64_t count_ = 0;
  Backend backend_ = Backend::kCpu;
  int index_ = 0;
};

// Copies between views of equal shape. Throws Error when the shapes differ.
template <class T, int R>
void copy(View<T, R> to, View<const T, R> from, Stream& stream) {
  require(to.extents() == from.extents(), "copy between shapes of {} and {} elements", from.size(),
          to.size());
  copy_bytes(to.data(), from.data(), static_cast<std::size_t>(from.size()) * sizeof(T), stream);
}

// A new buffer on `device` with the values of `host`. `host` must outlive the copy (see
// copy_bytes).
template <class T>
DeviceBuffer<T> upload(const Device& device, const std::vector<T>& host, Stream& stream) {
  DeviceBuffer<T> buffer(device, static_cast<std::int64_t>(host.size()));
  copy_bytes(buffer.data(), host.data(), host.size() * sizeof(T), stream);
  return buffer;
}

// The values of `buffer`, after all earlier work of the stream; synchronises it.
template <class T>
std::vector<T> download(const DeviceBuffer<T>& buffer, Stream& stream) {
  std::vector<T> host(static_cast<std::size_t>(buffer.size()));
  copy_bytes(host.data(), buffer.data(), host.size() * sizeof(T), stream);
  stream.synchronize();
  return host;
}

}  // namespace octavo
