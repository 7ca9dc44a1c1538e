#pragma once
// The host's side of the executor: which order the threads of a kernel run in, what a launch
// counted, and the error a kernel's mistake becomes. Kernels themselves include common/simt/simt.h.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace octavo::simt {

// The order in which the executor resumes runnable threads. CUDA promises none, so a correct kernel
// gives the same result under each; a wrong one usually fails under pct, skew or reverse.
enum class Schedule : std::uint8_t {
  kForward,  // fwd: first come, first served, thread 0 first
  kReverse,  // rev: the same, last thread and last block first
  kRandom,   // rand: uniformly random
  kPct,      // pct: random priorities, changed now and then (Burckhardt et al., ASPLOS 2010)
  kSkew,     // skew: one warp runs as far ahead of the others, or behind, as the barriers let it
};

struct Options {
  int workers = 1;  // OS threads that run blocks, 1 to 256
  Schedule schedule = Schedule::kForward;
  std::uint64_t seed = 1;  // for rand and pct; for skew, 2 w: warp w ahead, 2 w + 1: warp w behind
  // a thread that returns past a waiting barrier, and a barrier reached from two
  bool strict = true;
  // call sites, are errors; CUDA leaves both undefined or allows them silently
  std::size_t stack_bytes = 0;  // a thread's stack; 0: 64 KB, and 256 KB under a sanitizer

  // Reads OCTAVO_SIMT_SCHEDULE (fwd, rev, rand, pct, skew), OCTAVO_SIMT_SEED and
  // OCTAVO_SIMT_WORKERS. Throws Error on a value that is none of these.
  static Options from_environment();
};

std::string_view name_of(Schedule schedule);  // "fwd", ..., as the environment spells it

// What a launch from the calling OS thread uses: the innermost ScopedOptions, else the environment.
const Options& options();

// Replaces the calling OS thread's options until the end of the scope. Throws Error when a value is
// out of range.
class ScopedOptions {
 public:
  explicit ScopedOptions(const Options& replacement);
  ~ScopedOptions();
  ScopedOptions(const ScopedOptions&) = delete;
  ScopedOptions& operator=(const ScopedOptions&) = delete;

 private:
  Options options_;
  const Options* previous_;
};

// The seven orders the tests of a kernel run: fwd, rev, pct with seeds 1 to 3, skew with warp 0
// ahead and behind. They found every barrier that was ever removed from a kernel here; fwd alone
// did not.
std::vector<Options> covering_schedules();

// What one launch did. Warp operations count once a warp, barriers once a block.
struct LaunchStats {
  std::uint64_t blocks = 0, threads = 0;
  std::uint64_t switches = 0;  // from one thread to another
  std::uint64_t barriers = 0, warp_operations = 0, mma = 0;
  std::uint64_t mma_flops = 0;   // 2 M N K for each mma
  std::size_t shared_bytes = 0;  // static and dynamic, of the block that used most
  int stacks = 0;                // most threads of one OS thread that were alive at once
};

const LaunchStats& last_launch();  // of the calling OS thread

struct Index3 {
  unsigned x, y, z;
};

// A kernel broke one of CUDA's rules, or could not be launched. The message says what happened, in
// which kernel, block and thread, at which line, and what the other threads of the block were
// doing.
class KernelError : public Error {
 public:
  explicit KernelError(const std::string& message) : Error(message) {}
  KernelError(const std::string& message, std::string kernel, Index3 block, Index3 thread)
      : Error(message), kernel_(std::move(kernel)), block_(block), thread_(thread) {}

  const std::string& kernel() const { return kernel_; }  // empty when the launch itself was refused
  Index3 block() const { return block_; }
  Index3 thread() const { return thread_; }

 private:
  std::string kernel_;
  Index3 block_{}, thread_{};
};

}  // namespace octavo::simt
