#pragma once
// What the sanitizers have to be told about fibers, as functions that are empty without a
// sanitizer.
//
// Address: a switch of stacks is announced before and confirmed after, else the sanitizer takes the
// new stack's addresses for garbage. Memory of the shared arena outside a block's arrays is
// poisoned. Thread: each fiber is a thread to the sanitizer, and a switch orders nothing. What
// orders memory is taught with pairs of release(address) and acquire(address), at barriers,
// __syncwarp, and the two ends of a block. This library is itself compiled without the thread
// sanitizer, so its own accesses stay unseen.

#include <pthread.h>

#include <cstddef>
#include <string>

#include "common/simt/cpu/keywords.h"

#if defined(SIMT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(SIMT_TSAN)
extern "C" {
void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_set_fiber_name(void* fiber, const char* name);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

namespace octavo::simt::cpu {

#if defined(SIMT_TSAN)
inline constexpr bool kThreadSanitizer = true;
inline void acquire(void* address) { __tsan_acquire(address); }
inline void release(void* address) { __tsan_release(address); }
inline void* new_sanitizer_fiber() { return __tsan_create_fiber(0); }
inline void* this_sanitizer_fiber() { return __tsan_get_current_fiber(); }
inline void delete_sanitizer_fiber(void* fiber) { __tsan_destroy_fiber(fiber); }
inline void name_sanitizer_fiber(void* fiber, const std::string& name) {
  __tsan_set_fiber_name(fiber, name.c_str());
}
inline void enter_sanitizer_fiber(void* fiber) {
  __tsan_switch_to_fiber(fiber, 1);
}  // 1: orders nothing
#else
inline constexpr bool kThreadSanitizer = false;
inline void acquire(void*) {}
inline void release(void*) {}
inline void* new_sanitizer_fiber() { return nullptr; }
inline void* this_sanitizer_fiber() { return nullptr; }
inline void delete_sanitizer_fiber(void*) {}
inline void name_sanitizer_fiber(void*, const std::string&) {}
inline void enter_sanitizer_fiber(void*) {}
#endif

#if defined(SIMT_ASAN)
inline constexpr bool kAddressSanitizer = true;
inline void poison(void* p, std::size_t n) { __asan_poison_memory_region(p, n); }
inline void unpoison(void* p, std::size_t n) { __asan_unpoison_memory_region(p, n); }
inline void before_switch(void** fake_stack, const void* to, std::size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, to, bytes);
}
inline void after_switch(void* fake_stack) {
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}
// The calling OS thread's own stack, to be announced when a fiber switches back to it.
inline void own_stack(void** stack, std::size_t* bytes) {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, stack, bytes);
  pthread_attr_destroy(&attributes);
}
#else
inline constexpr bool kAddressSanitizer = false;
inline void poison(void*, std::size_t) {}
inline void unpoison(void*, std::size_t) {}
inline void before_switch(void**, const void*, std::size_t) {}
inline void after_switch(void*) {}
inline void own_stack(void**, std::size_t*) {}
#endif

}  // namespace octavo::simt::cpu
