// A launch: the configuration checked, blocks handed out to workers, errors and counts collected.

#include <sys/mman.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <numeric>
#include <thread>
#include <utility>

#include "common/simt/runtime/state.h"

namespace octavo::simt {
namespace cpu {
namespace {

// What an OS thread keeps from one launch to the next. After an error it is dropped.
struct Pool {
  std::vector<Fiber*> all, idle;
  unsigned char* arena = nullptr;
  AsyncCopy* copies = nullptr;
  std::size_t stack_bytes = 0;

  ~Pool() { clear(); }
  void clear() {
    for (Fiber* fiber : all) free_fiber(fiber);
    if (arena != nullptr) munmap(arena, kArenaBytes);
    if (copies != nullptr) munmap(copies, kCopyBytes);
    all.clear();
    idle.clear();
    arena = nullptr;
    copies = nullptr;
  }
  void exchange(Worker& w) {
    std::swap(all, w.all);
    std::swap(idle, w.idle);
    std::swap(arena, w.arena);
    std::swap(copies, w.copies);
  }
  static constexpr std::size_t kCopyBytes = sizeof(AsyncCopy) * kMaxCopies * kMaxThreads;
};
thread_local Pool pool;
thread_local LaunchStats last_stats;
LaunchObserver* observer = nullptr;

void set_up_worker(Worker& w, Grid* grid, const Options& options, unsigned number) {
  w.grid = grid;
  w.options = options;
  w.random = (options.seed + 1) * 0x9E3779B97F4A7C15ull + number * 7919 + 1;
  for (int i = 0; i < 8; ++i) random_bits(&w);
  const Index3 extent = grid->request.block;
  w.size = static_cast<int>(extent.x * extent.y * extent.z);
  w.ring_size = 1;
  while (w.ring_size < w.size + 1) w.ring_size *= 2;
  w.ring = new Thread*[static_cast<std::size_t>(w.ring_size)];
  w.threads = new Thread[static_cast<std::size_t>(w.size)]();
  w.warps = new Warp[static_cast<std::size_t>((w.size + 31) / 32)]();
  own_stack(&w.main.stack, &w.main.bytes);
  w.main.sanitizer_fiber = this_sanitizer_fiber();
  if (pool.stack_bytes != options.stack_bytes) pool.clear();
  pool.stack_bytes = options.stack_bytes;
  pool.exchange(w);
  if (w.copies == nullptr) w.copies = static_cast<AsyncCopy*>(map_memory(Pool::kCopyBytes));
}

void collect(Worker& w, Grid* grid) {
  acquire(w.end_tag);
  w.stats.stacks = static_cast<int>(w.all.size());
  std::lock_guard lock(grid->mutex);
  LaunchStats& sum = grid->stats;
  sum.blocks += w.stats.blocks;
  sum.threads += w.stats.threads;
  sum.switches += w.stats.switches;
  sum.barriers += w.stats.barriers;
  sum.warp_operations += w.stats.warp_operations;
  sum.mma += w.stats.mma;
  sum.mma_flops += w.stats.mma_flops;
  sum.shared_bytes = std::max(sum.shared_bytes, w.stats.shared_bytes);
  sum.stacks = std::max(sum.stacks, w.stats.stacks);
  if (w.failed && !grid->failed) {
    grid->failed = true;
    grid->error = w.error;
    grid->error_block = w.error_block;
    grid->error_thread = w.error_thread;
  }
}

void work(Grid* grid, const Options& options, unsigned number) {
  Worker w;
  this_worker = &w;
  current_launch = &grid->view;
  set_up_worker(w, grid, options, number);
  const bool reverse = options.schedule == Schedule::kReverse;
  for (std::uint64_t b = 0; !grid->abort && (b = grid->next++) < grid->blocks;) {
    const std::uint64_t block = b * grid->stride % grid->blocks;
    run_block(&w, reverse ? grid->blocks - 1 - block : block);
    if (w.failed) grid->abort = true;
  }
  collect(w, grid);
  if (w.arena != nullptr) unpoison(w.arena, kArenaBytes);
  pool.exchange(w);
  if (w.failed) pool.clear();  // its fibers are in the middle of something
  delete[] w.ring;
  delete[] w.threads;
  delete[] w.warps;
  this_worker = nullptr;
  current_launch = nullptr;
}

// OS threads that wait for launches with more than one worker; each keeps its pool.
class Crew {
 public:
  void run(int size, const std::function<void(int)>& job) {
    std::lock_guard one_launch(turn_);
    std::unique_lock lock(mutex_);
    job_ = &job;
    wanted_ = running_ = size;
    ++generation_;
    while (static_cast<int>(threads_.size()) < size) {
      threads_.emplace_back([this, id = static_cast<int>(threads_.size()), seen = generation_ - 1] {
        serve(id, seen);
      });
    }
    wake_.notify_all();
    done_.wait(lock, [this] { return running_ == 0; });
  }

  ~Crew() {
    {
      std::lock_guard lock(mutex_);
      quit_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void serve(int id, std::uint64_t seen) {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return quit_ || (generation_ != seen && id < wanted_); });
      if (quit_) return;
      seen = generation_;
      lock.unlock();
      (*job_)(id);
      lock.lock();
      if (--running_ == 0) done_.notify_one();
    }
  }

  std::vector<std::thread> threads_;
  std::mutex turn_, mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int)>* job_ = nullptr;
  std::uint64_t generation_ = 0;
  int wanted_ = 0, running_ = 0;
  bool quit_ = false;
};

// Steps of about 0.618 of the grid fall into its largest gap each time (Knuth, The Art of Computer
// Programming 3, section 6.4), whatever its rows are; without a common factor they reach each
// block.
std::uint64_t spreading_stride(std::uint64_t blocks) {
  auto stride = static_cast<std::uint64_t>(static_cast<double>(blocks) * 0.6180339887498949);
  while (std::gcd(stride, blocks) != 1) ++stride;
  return stride;
}

void check_extent(const char* what, const Index3& extent, Index3 limit) {
  const unsigned values[] = {extent.x, extent.y, extent.z}, limits[] = {limit.x, limit.y, limit.z};
  for (int axis = 0; axis < 3; ++axis) {
    if (values[axis] >= 1 && values[axis] <= limits[axis]) continue;
    throw KernelError(fmt::format("simt: {}.{} is {}, must be from 1 to {}", what, "xyz"[axis],
                                  values[axis], limits[axis]));
  }
}

void check_launch(const LaunchRequest& r) {
  check_extent("gridDim", r.grid, {0x7fffffffu, 65535, 65535});
  check_extent("blockDim", r.block, {1024, 1024, 64});
  const std::uint64_t threads = std::uint64_t{r.block.x} * r.block.y * r.block.z;
  if (threads > kMaxThreads) {
    throw KernelError(
        fmt::format("simt: a block of {} threads, the limit is {}", threads, kMaxThreads));
  }
  if (r.shared_bytes > kSharedLimit) {
    throw KernelError(fmt::format("simt: {} bytes of dynamic shared memory, the limit is {}",
                                  r.shared_bytes, kSharedLimit));
  }
  if (this_worker != nullptr) throw KernelError("simt: launch inside a kernel");
}

}  // namespace

void observe_launches(LaunchObserver* listener) { observer = listener; }
LaunchObserver* launch_observer() { return observer; }

void run_grid(const LaunchRequest& request) {
  check_launch(request);
  Grid grid;
  grid.request = request;
  grid.view = {request.grid, request.block};
  grid.blocks = std::uint64_t{request.grid.x} * request.grid.y * request.grid.z;
  const Options chosen = options();
  if (observer != nullptr && observer->launch_begins(request))
    grid.stride = spreading_stride(grid.blocks);
  const auto workers = static_cast<int>(
      std::min<std::uint64_t>(static_cast<std::uint64_t>(chosen.workers), grid.blocks));
  if (workers <= 1 || observer != nullptr) {
    work(&grid, chosen, 0);
  } else {
    static Crew crew;
    crew.run(workers, [&](int i) { work(&grid, chosen, static_cast<unsigned>(i)); });
  }
  last_stats = grid.stats;
  if (observer != nullptr) observer->launch_ended(grid.stats);
  if (grid.failed) {
    throw KernelError(grid.error, function_name(request.kernel), grid.error_block,
                      grid.error_thread);
  }
}

}  // namespace cpu

const LaunchStats& last_launch() { return cpu::last_stats; }

}  // namespace octavo::simt
