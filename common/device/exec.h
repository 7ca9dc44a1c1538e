#pragma once
// Exec: what a version needs to run besides its arguments, and Workspace, its scratch memory.

#include <cstddef>
#include <cstdint>

#include "common/device/buffer.h"
#include "common/device/device.h"
#include "common/device/stream.h"

namespace octavo {

class ThreadPool;  // common/base/threads.h; not included, since kernel files include this header

// Scratch memory allocated once and handed out in order; `take` never allocates. A version declares
// its need with bytes_for and takes inside a Scope, which gives everything back when it ends.
class Workspace {
 public:
  static constexpr std::int64_t kAlignment = 256;

  Workspace(const Device& device, std::int64_t bytes)
      : own_(device, bytes), base_(own_.data()), size_(bytes) {}
  // Borrows memory. Throws Error unless it is aligned to kAlignment, on which kernels count.
  explicit Workspace(View<std::byte, 1> memory) : base_(memory.data()), size_(memory.size()) {
    require(reinterpret_cast<std::uintptr_t>(base_) % kAlignment == 0,
            "workspace: borrowed memory must start at a multiple of {} bytes", kAlignment);
  }

  // The bytes that take<T>(count) uses up.
  template <class T>
  static constexpr std::int64_t bytes_for(std::int64_t count) {
    const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  // The next `count` elements, not initialised. Throws Error when the workspace is too small.
  template <class T>
  View<T, 1> take(std::int64_t count) {
    // Beyond it the count of bytes would overflow, and could come out small.
    constexpr std::int64_t kMost = (INT64_MAX - kAlignment) / static_cast<std::int64_t>(sizeof(T));
    require(count >= 0 && count <= kMost, "workspace: {} elements were asked for", count);
    const std::int64_t bytes = bytes_for<T>(count);
    require(bytes <= size_ - used_, "the workspace has {} of {} bytes left, {} were asked for",
            size_ - used_, size_, bytes);
    T* const p = reinterpret_cast<T*>(base_ + used_);
    used_ += bytes;
    return {p, {count}};
  }

  std::int64_t size() const { return size_; }
  std::int64_t used() const { return used_; }

  class Scope {
   public:
    explicit Scope(Workspace& workspace) : workspace_(workspace), used_(workspace.used_) {}
    ~Scope() { workspace_.used_ = used_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Workspace& workspace_;
    std::int64_t used_;
  };

 private:
  DeviceBuffer<std::byte> own_;
  std::byte* base_ = nullptr;
  std::int64_t size_ = 0;
  std::int64_t used_ = 0;
};

// Members are public: an Exec is a bundle that is passed down, not an object with behaviour.
// `threads` is borrowed.
struct Exec {
  Device device;
  DType compute = DType::kF32;  // the type of the operands of matmuls; sums are fp32
  ThreadPool& threads;          // for host code
  Stream stream;
  Workspace workspace;

  Exec(const Device& d, DType compute_type, ThreadPool& pool, std::int64_t workspace_bytes)
      : device(d), compute(compute_type), threads(pool), stream(d), workspace(d, workspace_bytes) {}
  Exec(const Device& d, DType compute_type, ThreadPool& pool, Workspace scratch)
      : device(d), compute(compute_type), threads(pool), stream(d), workspace(std::move(scratch)) {}

  Backend backend() const { return device.backend; }
};

}  // namespace octavo
