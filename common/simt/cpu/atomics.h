#pragma once
// Atomics on global and shared memory, and fences. An atomic orders nothing by itself, as on a GPU:
// what was written before it is visible to a thread that reads its value only if __threadfence
// stands between, and the thread sanitizer knows that.

#include <atomic>

#include "common/simt/cpu/access.h"

namespace octavo::simt {
inline namespace SIMT_FLAVOUR {

template <class T, class... Allowed>
inline constexpr bool kOneOf = (std::is_same_v<T, Allowed> || ...);

// The memory order of the next atomic: it publishes what came before the last fence, once.
SIMT_UNSEEN inline std::memory_order next_order() {
  const bool fenced = cpu::current_thread->fenced;
  cpu::current_thread->fenced = false;
  return fenced ? std::memory_order_acq_rel : std::memory_order_acquire;
}

// Runs `change` on an atomic reference to *p with the order that applies.
template <class T, class F>
SIMT_SELF_REPORTING T atomically(T* p, F change, const char* name, cpu::CallSite site) {
  require_aligned(p, sizeof(T), name, site);
  note_access(AccessKind::kAtomic, p, sizeof(T), site);
  cpu::maybe_preempt();
  return change(std::atomic_ref<T>(*p), next_order());
}

// Replaces the value by update(old) unless that is the same; returns the old one.
template <class T, class F>
SIMT_SELF_REPORTING T exchange_with(std::atomic_ref<T> ref, std::memory_order order, F update) {
  T old = ref.load(std::memory_order_relaxed);
  while (!ref.compare_exchange_weak(old, update(old), order, std::memory_order_relaxed)) {
  }
  return old;
}

#define SIMT_ATOMIC(NAME, OPERATION, ...)                                                    \
  template <class T>                                                                         \
  T NAME(T* p, std::type_identity_t<T> v, SIMT_SITE) {                                       \
    static_assert(kOneOf<T, __VA_ARGS__>, #NAME " does not exist for this type on a GPU");   \
    return atomically(                                                                       \
        p, [v](auto ref, std::memory_order order) SIMT_SELF_REPORTING { return OPERATION; }, \
        #NAME, site);                                                                        \
  }
SIMT_ATOMIC(atomicAdd, ref.fetch_add(v, order), int, unsigned, unsigned long long, float, double)
SIMT_ATOMIC(atomicExch, ref.exchange(v, order), int, unsigned, unsigned long long, float)
SIMT_ATOMIC(atomicOr, ref.fetch_or(v, order), int, unsigned, unsigned long long)
SIMT_ATOMIC(atomicAnd, ref.fetch_and(v, order), int, unsigned, unsigned long long)
SIMT_ATOMIC(atomicMax, exchange_with(ref, order, [v](T old) { return old < v ? v : old; }), int,
            unsigned, long long, unsigned long long)
SIMT_ATOMIC(atomicMin, exchange_with(ref, order, [v](T old) { return v < old ? v : old; }), int,
            unsigned, long long, unsigned long long)
#undef SIMT_ATOMIC

template <class T>
T atomicCAS(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v, SIMT_SITE) {
  static_assert(kOneOf<T, int, unsigned, unsigned long long, unsigned short>,
                "atomicCAS does not exist for this type on a GPU");
  return atomically(
      p,
      [expected, v](auto ref, std::memory_order order) SIMT_SELF_REPORTING {
        T old = expected;
        ref.compare_exchange_strong(old, v, order, std::memory_order_acquire);
        return old;
      },
      "atomicCAS", site);
}

SIMT_UNSEEN inline void __threadfence() { cpu::current_thread->fenced = true; }
SIMT_UNSEEN inline void __threadfence_block() { cpu::current_thread->fenced = true; }
inline void __nanosleep(unsigned) { cpu::maybe_preempt(); }

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::simt

using octavo::simt::__nanosleep;
using octavo::simt::__threadfence;
using octavo::simt::__threadfence_block;
using octavo::simt::atomicAdd;
using octavo::simt::atomicAnd;
using octavo::simt::atomicCAS;
using octavo::simt::atomicExch;
using octavo::simt::atomicMax;
using octavo::simt::atomicMin;
using octavo::simt::atomicOr;
