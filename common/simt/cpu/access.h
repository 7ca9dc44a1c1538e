#pragma once
// How memory operations of the dialect tell a profile what they touch. Plain accesses of a kernel
// are seen by the compiler's instrumentation; a 16-byte load, an ldmatrix or a cp.async would show
// as the many small accesses the host compiler makes of it, so these report themselves and are not
// instrumented. In all other builds the report is empty and the instrumentation stays: the
// sanitizers must see them.

#include "common/simt/backend.h"
#include "common/simt/cpu/keywords.h"
#include "common/simt/cpu/runtime.h"

#if defined(OCTAVO_SIMT_PROFILE)
#define SIMT_SELF_REPORTING SIMT_UNSEEN
#else
#define SIMT_SELF_REPORTING
#endif

namespace octavo::simt {

enum class AccessKind : std::uint8_t { kLoad, kStore, kAtomic, kLdmatrix, kCopyFrom, kCopyTo };

namespace cpu {
// Defined by common/simt/profile, called by kernels built for a profile.
void report_access(AccessKind kind, const void* address, int bytes, CallSite site);
}  // namespace cpu

inline namespace SIMT_FLAVOUR {

SIMT_UNSEEN inline void note_access([[maybe_unused]] AccessKind kind,
                                    [[maybe_unused]] const void* address,
                                    [[maybe_unused]] int bytes,
                                    [[maybe_unused]] cpu::CallSite site) {
#if defined(OCTAVO_SIMT_PROFILE)
  cpu::report_access(kind, address, bytes, site);
#endif
}

// Fails unless p is a multiple of `align`, as the hardware would.
inline void require_aligned(const void* p, unsigned align, const char* name, cpu::CallSite site) {
  if (reinterpret_cast<std::uintptr_t>(p) % align == 0) return;
  cpu::fail({name, ": the address ends in ",
             cpu::Piece::hex(reinterpret_cast<std::uintptr_t>(p) & 0xff, 2),
             ", must be a multiple of ", static_cast<int>(align), " bytes"},
            site);
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::simt
