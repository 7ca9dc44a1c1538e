// The functions that a compiler calls under -fsanitize=thread. Here they are not the sanitizer's:
// every plain load and store of a kernel arrives at the recorder. Signatures are those of the
// compilers' run-time interface.

#include <cstdint>
#include <cstring>

#include "common/simt/profile/recorder.h"

namespace octavo::simt {
namespace {

void plain(const void* address, int bytes, AccessKind kind, const void* return_address) {
  if (profile::recorder == nullptr) return;
  const std::uintptr_t call = reinterpret_cast<std::uintptr_t>(return_address) - 1;
  profile::recorder->access(call, 0, kind, address, bytes, bytes);
}

}  // namespace

void cpu::report_access(AccessKind kind, const void* address, int bytes, CallSite site) {
  if (profile::recorder == nullptr) return;
  // the last piece of a row may be shorter
  const int full_bytes = kind == AccessKind::kCopyFrom ? 16 : bytes;
  profile::recorder->access(reinterpret_cast<std::uintptr_t>(site.file), site.line, kind, address,
                            bytes, full_bytes);
}

}  // namespace octavo::simt

#define PLAIN_HOOK(NAME, BYTES, KIND)                                                           \
  void NAME(void* p) {                                                                          \
    octavo::simt::plain(p, BYTES, octavo::simt::AccessKind::KIND, __builtin_return_address(0)); \
  }
#define PLAIN_HOOKS(BYTES)                               \
  PLAIN_HOOK(__tsan_read##BYTES, BYTES, kLoad)           \
  PLAIN_HOOK(__tsan_write##BYTES, BYTES, kStore)         \
  PLAIN_HOOK(__tsan_unaligned_read##BYTES, BYTES, kLoad) \
  PLAIN_HOOK(__tsan_unaligned_write##BYTES, BYTES, kStore)

// Atomics of the dialect report themselves; these only do the work.
#define ATOMIC_UPDATE(BITS, T, NAME, BUILTIN)               \
  T __tsan_atomic##BITS##_##NAME(volatile T* p, T v, int) { \
    return BUILTIN(p, v, __ATOMIC_SEQ_CST);                 \
  }
#define ATOMIC_COMPARE(BITS, T, NAME, WEAK)                                                       \
  int __tsan_atomic##BITS##_compare_exchange_##NAME(volatile T* p, T* expected, T v, int, int) {  \
    return __atomic_compare_exchange_n(p, expected, v, WEAK, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }
#define ATOMIC_HOOKS(BITS, T)                                                                \
  T __tsan_atomic##BITS##_load(const volatile T* p, int) {                                   \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                             \
  }                                                                                          \
  void __tsan_atomic##BITS##_store(volatile T* p, T v, int) {                                \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                \
  }                                                                                          \
  ATOMIC_UPDATE(BITS, T, exchange, __atomic_exchange_n)                                      \
  ATOMIC_UPDATE(BITS, T, fetch_add, __atomic_fetch_add)                                      \
  ATOMIC_UPDATE(BITS, T, fetch_sub, __atomic_fetch_sub)                                      \
  ATOMIC_UPDATE(BITS, T, fetch_and, __atomic_fetch_and)                                      \
  ATOMIC_UPDATE(BITS, T, fetch_or, __atomic_fetch_or)                                        \
  ATOMIC_UPDATE(BITS, T, fetch_xor, __atomic_fetch_xor)                                      \
  ATOMIC_COMPARE(BITS, T, strong, false)                                                     \
  ATOMIC_COMPARE(BITS, T, weak, true)                                                        \
  T __tsan_atomic##BITS##_compare_exchange_val(volatile T* p, T expected, T v, int, int) {   \
    __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    return expected;                                                                         \
  }

extern "C" {

PLAIN_HOOKS(1)
PLAIN_HOOKS(2)
PLAIN_HOOKS(4)
PLAIN_HOOKS(8)
PLAIN_HOOKS(16)

ATOMIC_HOOKS(8, std::uint8_t)
ATOMIC_HOOKS(16, std::uint16_t)
ATOMIC_HOOKS(32, std::uint32_t)
ATOMIC_HOOKS(64, std::uint64_t)

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void*, std::size_t) {}
void __tsan_write_range(void*, std::size_t) {}
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}
void* __tsan_memcpy(void* to, const void* from, std::size_t n) { return std::memcpy(to, from, n); }
void* __tsan_memmove(void* to, const void* from, std::size_t n) {
  return std::memmove(to, from, n);
}
void* __tsan_memset(void* to, int value, std::size_t n) { return std::memset(to, value, n); }

}  // extern "C"
