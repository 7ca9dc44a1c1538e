// Compiled for the plainest CPU of the architecture and run before everything else: a binary built
// for a newer CPU says so and exits, instead of dying of an illegal instruction somewhere later.

#include <cstdio>
#include <cstdlib>

#include "octavo_cpu_features.h"  // OCTAVO_CPU_FEATURES(X), OCTAVO_BUILT_FOR: written by CMake from the compiler's macros

namespace {

__attribute__((constructor(101))) void check_cpu() {
#if defined(__x86_64__)
  __builtin_cpu_init();
#define OCTAVO_CHECK(feature)                                                               \
  if (!__builtin_cpu_supports(feature)) {                                                   \
    std::fprintf(stderr,                                                                    \
                 "octavo: built for -march=%s, but this CPU has no %s; build again here\n", \
                 OCTAVO_BUILT_FOR, feature);                                                \
    std::_Exit(1);                                                                          \
  }
  OCTAVO_CPU_FEATURES(OCTAVO_CHECK)
#undef OCTAVO_CHECK
#endif
}

}  // namespace
