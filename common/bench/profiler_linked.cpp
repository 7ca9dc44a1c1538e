// Compiled into programs that link octavo::bench_profile, where it takes the place of
// profiler_absent.cpp in the library.
#include "common/bench/profile_rows.h"
#include "common/simt/profile/profile.h"

namespace octavo::bench {
namespace {

// Blocks of a tiled product over a long K make a million accesses each; smaller ones run until they
// have made as many together. On both counts a row takes a few seconds.
constexpr simt::Sample kSample = {.blocks = 4, .accesses = 2'000'000};

CallProfile profile(const std::function<void()>& call) {
  const simt::Profiler profiler(kSample);
  call();
  constexpr double kSectorBytes = 32;
  CallProfile sum;
  for (const simt::KernelProfile& kernel : profiler.kernels()) {
    const simt::Counters& c = kernel.counters;
    sum.counts.bytes += kSectorBytes * static_cast<double>(c.global_sectors);
    sum.counts.mma_flops += static_cast<double>(c.mma_flops);
    sum.counts.launches += static_cast<int>(c.launches);
    sum.text += to_text(kernel) + "\n";
  }
  return sum;
}

}  // namespace

ProfileCall linked_profiler() { return profile; }

}  // namespace octavo::bench
