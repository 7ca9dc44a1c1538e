// Stacks: mapped with a guard below, pooled for each OS thread, and reused.

#include <sys/mman.h>

#include <new>

#include "common/simt/runtime/state.h"

namespace octavo::simt::cpu {
namespace {

constexpr std::size_t kPage = 4096;
// An overflow faults instead of writing a neighbour's stack. Wide, and only addresses: a large
// local array must not jump over it.
constexpr std::size_t kGuard = std::size_t{1} << 20;

std::size_t stack_bytes(const Options& options) {
  if (options.stack_bytes != 0) return options.stack_bytes;
  return kAddressSanitizer || kThreadSanitizer ? 256 * 1024 : 64 * 1024;
}

}  // namespace

Fiber* new_fiber() {
  Worker* w = this_worker;
  const std::size_t size = (stack_bytes(w->options) + kPage - 1) / kPage * kPage;
  void* mapping = mmap(nullptr, size + kGuard, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mprotect(mapping, kGuard, PROT_NONE);
  auto* fiber = new Fiber{};
  fiber->mapping = mapping;
  fiber->mapping_bytes = size + kGuard;
  fiber->stack = static_cast<char*>(mapping) + kGuard;
  // Tops at different offsets: at equal ones the hot lines of 1,024 stacks share a few sets of the
  // L1 cache, and a switch takes 21 ns instead of 9.
  fiber->bytes = size - w->all.size() * 7 % 61 * 64;
  make_context(fiber->context, fiber->stack, fiber->bytes, fiber_main, fiber);
  fiber->sanitizer_fiber = new_sanitizer_fiber();
  w->all.push_back(fiber);
  return fiber;
}

void free_fiber(Fiber* fiber) {
  unpoison(fiber->stack, fiber->bytes);
  delete_sanitizer_fiber(fiber->sanitizer_fiber);
  munmap(fiber->mapping, fiber->mapping_bytes);
  delete fiber;
}

Fiber* take_fiber() {
  Worker* w = this_worker;
  if (w->idle.empty()) return new_fiber();
  Fiber* fiber = w->idle.back();
  w->idle.pop_back();
  return fiber;
}

}  // namespace octavo::simt::cpu
