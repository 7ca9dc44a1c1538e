#pragma once
// The executor's records. Read this first: a grid is run by workers (OS threads), a worker runs one
// block at a time, a block's CUDA threads are fibers of that worker.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "common/simt/cpu/runtime.h"
#include "common/simt/runtime/context.h"
#include "common/simt/runtime/sanitizers.h"

namespace octavo::simt::cpu {

inline constexpr int kMaxThreads = 1024;  // of a block
inline constexpr int kBarriers = 16;      // of a block; 0 is __syncthreads
inline constexpr int kMaxSharedArrays = 32;
inline constexpr int kMaxCopies = 256;  // a thread's unfinished cp.async copies; a power of two
inline constexpr std::size_t kSharedLimit = 227 * 1024;       // of a block, on sm_90
inline constexpr std::size_t kStaticSharedLimit = 48 * 1024;  // nvcc's, for static arrays
inline constexpr std::size_t kArenaBytes = 256 * 1024;        // kSharedLimit and the red zones

struct Thread;

// A stack and where execution on it stands. Started lazily; a thread that returns leaves its fiber
// to the next thread that starts.
struct Fiber {
  Context context;
  void* stack;
  std::size_t bytes;
  void* mapping;
  std::size_t mapping_bytes;
  void* fake_stack;       // address sanitizer's
  void* sanitizer_fiber;  // thread sanitizer's
  Thread* next;           // whom to run when switched to from outside
};

enum class State : std::uint8_t { kFresh, kReady, kInBarrier, kInWarpOp, kReturned };

struct Warp;
struct Thread : ThreadView {
  Fiber* fiber;
  Warp* warp;
  WarpOp* op;              // while in a warp operation
  std::uint64_t priority;  // pct, skew
  const char* doing;       // name of the last operation, and where it stood
  CallSite site;
  int barrier;             // while in one
  int result;              // that the barrier left
  int group;               // of asynchronous copies, the one that is open
  int copies, first_copy;  // those not yet done, a ring in `queue`
  AsyncCopy* queue;        // kMaxCopies of them
  int spins;
  State state;
  unsigned char tag[8];  // an address for the thread sanitizer
};

struct Warp {
  Thread* thread[32];
  std::uint32_t existing, returned, pending;  // lanes; pending: waiting in a warp operation
  unsigned generation;
  unsigned char tags[64];
};

struct Barrier {
  int arrived, sum, count;
  unsigned generation;
  const char* name;
  CallSite site;          // of the first to arrive
  unsigned char tags[2];  // of two successive generations
};

struct SharedArray {
  const void* key;
  unsigned char* data;
};

struct Grid {
  LaunchRequest request;
  LaunchView view;
  std::uint64_t blocks = 0;
  std::uint64_t stride =
      1;  // from one block to the next, modulo blocks; has no common factor with it
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> abort{false};
  std::mutex mutex;  // guards what follows
  bool failed = false;
  std::string error;
  Index3 error_block{}, error_thread{};
  LaunchStats stats;
};

// Everything one OS thread needs to run blocks.
struct Worker {
  Grid* grid = nullptr;
  Options options;
  Fiber main{};  // the OS thread's own stack
  std::vector<Fiber*> all, idle;
  Thread* threads = nullptr;
  Warp* warps = nullptr;
  int size = 0;             // threads of a block
  Thread** ring = nullptr;  // runnable threads, a queue of ring_size (a power of two) places
  int head = 0, runnable = 0, ring_size = 0;
  int returned = 0;
  Barrier barriers[kBarriers]{};
  AsyncCopy* copies = nullptr;     // kMaxCopies for each of kMaxThreads threads
  unsigned char* arena = nullptr;  // shared memory of the block
  std::size_t arena_used = 0, static_bytes = 0;
  unsigned char* dynamic = nullptr;
  SharedArray arrays[kMaxSharedArrays];
  int array_count = 0;
  std::uint64_t random = 1;
  bool unwinding = false;  // after an error: resumed threads throw
  bool failed = false;
  std::string error;
  Index3 error_block{}, error_thread{};
  LaunchStats stats;
  unsigned char start_tag[8], end_tag[8];  // for the thread sanitizer: the two ends of a block
};

extern thread_local constinit Worker* this_worker;

struct Unwind {};  // thrown in a fiber after an error; never leaves it

inline Thread* running() { return static_cast<Thread*>(current_thread); }

inline std::uint64_t random_bits(Worker* w) {  // xorshift
  std::uint64_t x = w->random;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return w->random = x;
}
// rand, pct and skew also let a thread be overtaken where it does not have to wait.
inline bool overtaking(const Worker* w) { return w->options.schedule >= Schedule::kRandom; }

// scheduler.cpp
void push_runnable(Thread* thread);
Thread* pick_runnable();  // null when none is left
void switch_fiber(Fiber* from, Fiber* to);
void block_until_resumed(Thread* me);
void yield_to_others(Thread* me);  // stays runnable
void fiber_main(void* fiber);

// fibers.cpp
Fiber* take_fiber();  // an idle one or a new one
Fiber* new_fiber();
void free_fiber(Fiber* fiber);

// block.cpp
void run_block(Worker* w, std::uint64_t block);

// warp.cpp, barrier.cpp
void thread_returned(Thread* thread);
void warp_lane_returned(Thread* thread);
void barrier_thread_returned(Thread* thread);

// shared_memory.cpp
void* map_memory(std::size_t bytes);  // zero, committed when touched
void reset_shared_memory(Worker* w);

// errors.cpp
void record_error(const std::string& message,
                  CallSite site);  // with where, who, and what the others do
[[noreturn]] void fail(const std::string& message, CallSite site);
std::string text_of(CallSite site);    // "file.cu:12"
std::string text_of(const Index3& i);  // "(1,0,0)"

// launch.cpp
LaunchObserver* launch_observer();

}  // namespace octavo::simt::cpu
