// A block's shared memory: an arena filled with 0xFF where it is in use (NaN as a float, -1 as an
// integer), so that a read before a write shows, with red zones between the arrays for the address
// sanitizer.

#include <sys/mman.h>

#include <new>

#include "common/simt/runtime/state.h"

namespace octavo::simt::cpu {
namespace {

constexpr std::size_t kRedZone = 64;

std::size_t round_up(std::size_t n, std::size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

void fill_unwritten(unsigned char* p, std::size_t bytes) {
  // Volatile, so that it does not become a memset: the thread sanitizer sees that one.
  std::size_t i = 0;
  for (; i + 8 <= bytes; i += 8)
    *reinterpret_cast<volatile std::uint64_t*>(p + i) = ~std::uint64_t{0};
  for (; i < bytes; ++i) static_cast<volatile unsigned char*>(p)[i] = 0xff;
}

unsigned char* take(Worker* w, std::size_t bytes, std::size_t align) {
  const std::size_t begin = round_up(w->arena_used + kRedZone, align),
                    end = begin + round_up(bytes, 8);
  if (end > kArenaBytes) {
    fail(fmt::format("{} bytes of shared memory are one array too many for the executor's arena",
                     bytes),
         {"", 0});
  }
  w->arena_used = end;
  unpoison(w->arena + begin, bytes);
  fill_unwritten(w->arena + begin, bytes);
  return w->arena + begin;
}

}  // namespace

void* map_memory(std::size_t bytes) {
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  return mapping;
}

void reset_shared_memory(Worker* w) {
  if (kThreadSanitizer && w->arena != nullptr) {  // fresh addresses: two blocks share nothing
    munmap(w->arena, kArenaBytes);
    w->arena = nullptr;
  }
  if (w->arena == nullptr) w->arena = static_cast<unsigned char*>(map_memory(kArenaBytes));
  poison(w->arena, kArenaBytes);
  w->arena_used = w->static_bytes = 0;
  w->array_count = 0;
  const std::size_t dynamic_bytes = w->grid->request.shared_bytes;
  w->dynamic = dynamic_bytes == 0 ? nullptr : take(w, dynamic_bytes, 1024);
}

void* shared_slot(const void* key, std::size_t bytes, std::size_t align) {
  Worker* w = this_worker;
  for (int i = 0; i < w->array_count; ++i) {
    if (w->arrays[i].key == key) return w->arrays[i].data;
  }
  const std::size_t dynamic_bytes = w->grid->request.shared_bytes;
  w->static_bytes += bytes;
  if (w->array_count == kMaxSharedArrays) {
    fail(fmt::format("more than {} static shared arrays in one kernel", kMaxSharedArrays), {"", 0});
  }
  if (w->static_bytes > kStaticSharedLimit) {
    fail(fmt::format("{} bytes of static shared memory, the limit is {}: use dynamic_shared",
                     w->static_bytes, kStaticSharedLimit),
         {"", 0});
  }
  if (w->static_bytes + dynamic_bytes > kSharedLimit) {
    fail(fmt::format(
             "{} bytes of static and {} of dynamic shared memory, a block may have {} together",
             w->static_bytes, dynamic_bytes, kSharedLimit),
         {"", 0});
  }
  unsigned char* data = take(w, bytes, align);
  w->arrays[w->array_count++] = {key, data};
  return data;
}

void* dynamic_slot() {
  Worker* w = this_worker;
  if (w->dynamic == nullptr) {
    fail("dynamic_shared in a launch with 0 bytes of dynamic shared memory", {"", 0});
  }
  return w->dynamic;
}

bool in_shared_memory(const void* p) {
  const auto* c = static_cast<const unsigned char*>(p);
  const Worker* w = this_worker;
  return c >= w->arena && c < w->arena + kArenaBytes;
}

Space space_of(const void* p) {
  const Worker* w = this_worker;
  if (w == nullptr || current_thread == nullptr) return Space::kNone;
  if (in_shared_memory(p)) return Space::kShared;
  const Fiber* fiber = running()->fiber;
  const auto* c = static_cast<const char*>(p);
  if (fiber != nullptr && c >= fiber->stack &&
      c < static_cast<char*>(fiber->stack) + fiber->bytes) {
    return Space::kLocal;
  }
  return Space::kGlobal;
}

}  // namespace octavo::simt::cpu
