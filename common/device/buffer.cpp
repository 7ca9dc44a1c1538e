#include "common/device/buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "common/device/cuda_backend.h"

namespace octavo {
namespace {

constexpr std::size_t kAlignment =
    256;  // what cudaMalloc gives, so that a kernel's assumptions hold everywhere

// Memory of at least this size lies on huge pages, where the system has them to give: weights are
// read from end to end, and with pages of 4 KiB every 64th cache line waits for a page table too.
constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

namespace detail {

void* allocate_bytes(const Device& device, std::size_t bytes) {
  if (device.backend == Backend::kCuda) return cuda::allocate(device.index, bytes);
  void* memory = nullptr;
  // The size is not rounded up: a sanitizer then sees an access one element past the end.
  const bool huge = bytes >= kHugePage;
  if (posix_memalign(&memory, huge ? kHugePage : kAlignment, bytes) != 0) {
    fail("{} bytes of host memory are not to be had", bytes);
  }
  if (huge) madvise(memory, bytes, MADV_HUGEPAGE);  // a wish; that it is not granted is no error
  return memory;
}

void release_bytes(Backend backend, int index, void* memory) noexcept {
  if (memory == nullptr) return;
  if (backend == Backend::kCuda) {
    cuda::release(index, memory);
  } else {
    std::free(memory);
  }
}

}  // namespace detail

void copy_bytes(void* to, const void* from, std::size_t bytes, Stream& stream) {
  if (bytes == 0) return;
  if (stream.backend() == Backend::kCuda) {
    cuda::copy(to, from, bytes, stream.native());
  } else {
    std::memmove(to, from, bytes);
  }
}

void fill_bytes(void* memory, std::uint8_t byte, std::size_t bytes, Stream& stream) {
  if (bytes == 0) return;
  if (stream.backend() == Backend::kCuda) {
    cuda::fill(memory, byte, bytes, stream.native());
  } else {
    std::memset(memory, byte, bytes);
  }
}

}  // namespace octavo
