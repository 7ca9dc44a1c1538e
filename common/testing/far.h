#pragma once
// Operands beyond 2^31 elements without the memory for them: address space of which only the pages
// that are touched exist, and a grid of which only the last blocks run. An index that was counted
// in 32 bits then misses the last element, or leaves the operands.

#include <sys/mman.h>

#include <cstdint>
#include <vector>

#include "common/base/error.h"
#include "common/base/view.h"
#include "common/simt/cpu/runtime.h"
#include "common/simt/executor.h"

namespace octavo::testing {

#if defined(__has_feature)
#define OCTAVO_HAS_FEATURE(x) __has_feature(x)
#else
#define OCTAVO_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    OCTAVO_HAS_FEATURE(address_sanitizer) || OCTAVO_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kFarMemory = false;  // a sanitizer's own memory is a share of it
#else
inline constexpr bool kFarMemory = true;
#endif

// Elements that are 0 until they are written.
template <class T>
class Far {
 public:
  // Throws Error when so much address space is not to be had.
  explicit Far(std::int64_t count) : count_(count) {
    void* const memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(memory != MAP_FAILED, "{} bytes of address space are not to be had", bytes());
    data_ = static_cast<T*>(memory);
  }
  ~Far() { munmap(data_, bytes()); }
  Far(const Far&) = delete;
  Far& operator=(const Far&) = delete;

  T* data() const { return data_; }
  T& last() const { return data_[count_ - 1]; }
  template <int R>
  View<T, R> view(const std::int64_t (&extents)[R]) const {
    typename View<T, R>::Extents e{};
    for (int a = 0; a < R; ++a) e[static_cast<std::size_t>(a)] = extents[a];
    const View<T, R> v(data_, e);
    require(v.size() == count_, "a view of {} elements on {}", v.size(), count_);
    return v;
  }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }
  T* data_ = nullptr;
  std::int64_t count_ = 0;
};

// While it lives, launches on the executor run only the last so many blocks of their grids, the
// last one first.
class LastBlocks : public simt::cpu::LaunchObserver {
 public:
  explicit LastBlocks(int blocks) : scope_(reverse()), blocks_(blocks) {
    simt::cpu::observe_launches(this);
  }
  ~LastBlocks() override { simt::cpu::observe_launches(nullptr); }

  bool launch_begins(const simt::cpu::LaunchRequest&) override {
    left_ = blocks_;
    return false;
  }
  bool block_ended() override { return --left_ > 0; }
  void launch_ended(const simt::LaunchStats&) override {}

 private:
  static simt::Options reverse() {
    simt::Options o;
    o.schedule = simt::Schedule::kReverse;
    return o;
  }

  simt::ScopedOptions scope_;
  int blocks_, left_ = 0;
};

}  // namespace octavo::testing
