#pragma once
// cp.async: a copy of 16 bytes from global to shared memory that runs beside the thread until it
// waits. Here the copy happens as late as the rules allow, at the wait, or at once where the
// schedule says so; until then the destination holds 0xFF, so that a read without a wait shows.

#include <cstring>

#include "common/simt/cpu/access.h"

namespace octavo::simt {
inline namespace SIMT_FLAVOUR {

// Instrumented on purpose: the sanitizers see both ends of the copy.
SIMT_SELF_REPORTING inline void copy_now(const cpu::AsyncCopy& copy) {
  if (copy.bytes == 16) {
    std::memcpy(copy.dst, copy.src, 16);
    return;
  }
  auto* to = static_cast<unsigned char*>(copy.dst);
  const auto* from = static_cast<const unsigned char*>(copy.src);
  for (int i = 0; i < 16; ++i) to[i] = i < copy.bytes ? from[i] : 0;
}

// The first `bytes` of the 16 come from `from`, the rest are zero; with bytes = 0 nothing is read.
// Both addresses are multiples of 16. The copy belongs to the group that the next cp_async_commit
// closes.
SIMT_SELF_REPORTING inline void cp_async16(void* to, const void* from, int bytes = 16, SIMT_SITE) {
  require_aligned(to, 16, "cp_async16: destination", site);
  require_aligned(from, 16, "cp_async16: source", site);
  if (!cpu::in_shared_memory(to))
    cpu::fail({"cp_async16: the destination is not in shared memory"}, site);
  if (bytes < 0 || bytes > 16) {
    cpu::fail({"cp_async16: ", bytes, " bytes, must be from 0 to 16"}, site);
  }
  if (bytes > 0) note_access(AccessKind::kCopyFrom, from, bytes, site);
  note_access(AccessKind::kCopyTo, to, 16, site);
  const cpu::AsyncCopy copy{to, from, bytes, 0};
  if (cpu::async_at_once()) return copy_now(copy);
  if (bytes > 0) {  // a bad source address is reported here, not at the wait
    (void)static_cast<const volatile unsigned char*>(from)[0];
    (void)static_cast<const volatile unsigned char*>(from)[bytes - 1];
  }
  static_cast<volatile std::uint64_t*>(to)[0] = ~std::uint64_t{0};
  static_cast<volatile std::uint64_t*>(to)[1] = ~std::uint64_t{0};
  cpu::async_push(copy);
}

// Closes the group of copies issued since the last commit.
inline void cp_async_commit() { cpu::async_commit(); }

// Waits until at most `Groups` of the closed groups are unfinished: this thread's copies only,
// others need a barrier after it.
template <int Groups>
void cp_async_wait() {
  for (cpu::AsyncCopy c = cpu::async_pop(Groups); c.dst != nullptr; c = cpu::async_pop(Groups)) {
    copy_now(c);
  }
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::simt
