#pragma once
// What the dialect's inline functions ask of the runtime (common/simt/runtime). Nothing here
// depends on the compiler's flags, so one runtime serves kernels built with and without a sanitizer
// or a profile.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "common/simt/executor.h"

namespace octavo::simt::cpu {

// Where in the source an operation stands. As the last, defaulted parameter it names the caller's
// line.
struct CallSite {
  const char* file;
  int line;
  static constexpr CallSite here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};
#define SIMT_SITE ::octavo::simt::cpu::CallSite site = ::octavo::simt::cpu::CallSite::here()

struct ThreadView {  // the part of a CUDA thread's record that kernels read
  Index3 thread, block;
  unsigned linear, lane;  // thread within the block, x fastest; linear % 32
  bool fenced;            // __threadfence since the last atomic
};
struct LaunchView {
  Index3 grid, block;
};
extern thread_local constinit ThreadView* current_thread;  // null outside kernels
extern thread_local constinit const LaunchView* current_launch;

// ---- warp operations
enum class WarpKind : std::uint8_t { kSync, kShuffle, kVote, kReduce, kMatch, kLdmatrix, kMma };

// One lane's side of an operation that the lanes of `mask` do together. The last of them to arrive
// runs `combine` once for all.
struct WarpOp;
struct Lanes {
  WarpOp* op[32];  // of the lanes in `mask`
  std::uint32_t mask;
};
using Combine = void (*)(Lanes&);

struct WarpOp {
  Combine combine;  // also the operation's identity: all lanes of a mask must bring the same
  WarpKind kind;
  std::uint32_t mask;
  const char* name;
  CallSite site;
  const void* in;  // this lane's operand and result, as `combine` knows them
  void* out;
  int a, b;   // source lane, delta or predicate; width
  void* tag;  // the runtime's own
};
void warp_op(WarpOp& op);

// ---- barriers
enum class BarrierKind : std::uint8_t { kSync, kArrive };

// Barrier 0 is __syncthreads: `count` is 0 and means the whole block. Returns the sum of the
// predicates.
int block_barrier(int id, int count, int predicate, BarrierKind kind, const char* name,
                  CallSite site);

// ---- memory
void* shared_slot(const void* key, std::size_t bytes, std::size_t align);
void* dynamic_slot();
bool in_shared_memory(const void* p);

enum class Space : std::uint8_t { kNone, kLocal, kShared, kGlobal };  // kNone: outside a kernel
Space space_of(const void* p);                                        // of the running thread

template <class T>
T* shared_array(const char* key) {
  static_assert(std::is_trivially_default_constructible_v<T>, "shared memory is not initialised");
  return static_cast<T*>(shared_slot(key, sizeof(T), alignof(T) < 16 ? 16 : alignof(T)));
}

// ---- asynchronous copies
struct AsyncCopy {
  void* dst;
  const void* src;
  int bytes;  // read from src; the rest of the 16 is zero
  int group;
};
void async_push(AsyncCopy copy);
void async_commit();
AsyncCopy async_pop(int groups_left);  // dst is null when no more copies have to complete
bool async_at_once();                  // the schedule decides: as early or as late as allowed

// ---- the rest
void maybe_preempt();  // atomics call it: another thread may run now, as if this one were slow

// A piece of a message: text, a number, or a number in hexadecimal with leading zeros.
struct Piece {
  Piece(const char* t) : text(t) {}
  Piece(long n) : number(n) {}
  Piece(int n) : number(n) {}
  static Piece hex(unsigned long n, int digits) {
    Piece p(static_cast<long>(n));
    p.digits = digits;
    return p;
  }

  const char* text = nullptr;  // null: the number
  long number = 0;
  int digits = 0;  // 0: decimal
};
// What an operation of a kernel has to complain about. The message is put together in the runtime:
// formatting in a kernel's own code would be watched by the sanitizers like the kernel.
[[noreturn]] void fail(std::initializer_list<Piece> message, CallSite site);

struct LaunchRequest {
  Index3 grid, block;
  std::size_t shared_bytes;
  const void* kernel;  // address of the kernel, to name it in messages
  CallSite site;       // of the launch
  void (*body)(void*);
  void* argument;
  bool needs_whole_grid = false;  // of LaunchConfig
};
void run_grid(const LaunchRequest& request);

// A profile listens to launches; its kernels run on one worker.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  // Whether the blocks come spread over the grid, each once, so that the first ones are a sample of
  // all; else in the schedule's order.
  virtual bool launch_begins(const LaunchRequest& request) = 0;
  virtual bool block_ended() = 0;  // whether the next block is to run
  virtual void launch_ended(const LaunchStats& stats) = 0;
};
void observe_launches(LaunchObserver* observer);        // null: nobody
std::string function_name(const void* address);         // demangled; "" when it is not known
std::uintptr_t offset_in_program(const void* address);  // as the program's file counts addresses

}  // namespace octavo::simt::cpu
