// One block: its records set up, its threads run, and after an error its suspended threads unwound.

#include "common/simt/runtime/state.h"

namespace octavo::simt::cpu {
namespace {

// skew: the seed names a warp and whether it runs ahead of the others or behind them.
std::uint64_t skew_priority(const Worker* w, int thread) {
  const auto warps = static_cast<std::uint64_t>((w->size + 31) / 32);
  const std::uint64_t chosen = w->options.seed / 2 % warps;
  const bool ahead = w->options.seed % 2 == 0;
  const std::uint64_t distance = (static_cast<std::uint64_t>(thread / 32) + warps - chosen) % warps;
  const std::uint64_t rank = ahead ? warps - distance : distance;
  return (rank << 32) + static_cast<std::uint64_t>(31 - thread % 32);
}

void set_up_thread(Worker* w, int i, Index3 block) {
  const Index3 extent = w->grid->request.block;
  Thread& t = w->threads[i];
  const auto u = static_cast<unsigned>(i);
  t.thread = {u % extent.x, u / extent.x % extent.y, u / extent.x / extent.y};
  t.block = block;
  t.linear = u;
  t.lane = u & 31;
  t.fenced = false;
  t.fiber = nullptr;
  t.op = nullptr;
  t.state = State::kFresh;
  t.copies = t.first_copy = t.group = t.spins = 0;
  t.queue = w->copies + static_cast<std::size_t>(i) * kMaxCopies;
  t.doing = "";
  t.site = {"", 0};
  t.priority = w->options.schedule == Schedule::kSkew ? skew_priority(w, i) : random_bits(w);
  t.warp = &w->warps[i / 32];
  t.warp->thread[i % 32] = &t;
  t.warp->existing |= 1u << (i % 32);
}

void set_up_block(Worker* w, Index3 block) {
  reset_shared_memory(w);
  w->returned = w->head = w->runnable = 0;
  for (Barrier& barrier : w->barriers) barrier = Barrier{};
  for (int i = 0; i < (w->size + 31) / 32; ++i) {
    Warp& warp = w->warps[i];
    warp.existing = warp.returned = warp.pending = 0;
  }
  for (int i = 0; i < w->size; ++i) set_up_thread(w, i, block);
  const bool reverse = w->options.schedule == Schedule::kReverse;
  for (int i = 0; i < w->size; ++i) push_runnable(&w->threads[reverse ? w->size - 1 - i : i]);
}

// The thread sanitizer keeps a history for each of its threads, and making one costs milliseconds,
// so they are reused. The assignment rotates: were thread 5 of two successive blocks the same to
// the sanitizer, a race between the blocks would look like one thread's program order.
void assign_sanitizer_fibers(Worker* w, std::uint64_t block) {
  while (static_cast<int>(w->all.size()) < w->size) new_fiber();
  release(w->start_tag);  // the host's past happens before the block; blocks stay unordered among
                          // themselves
  for (int i = 0; i < w->size; ++i) {
    Fiber* fiber =
        w->all[(static_cast<std::uint64_t>(i) + block) % static_cast<std::uint64_t>(w->size)];
    Thread& thread = w->threads[i];
    fiber->next = &thread;
    thread.fiber = fiber;
    name_sanitizer_fiber(fiber->sanitizer_fiber,
                         "block " + text_of(thread.block) + " thread " + text_of(thread.thread));
  }
}

void unwind_suspended(Worker* w) {
  acquire(w->end_tag);
  w->unwinding = true;
  for (int i = 0; i < w->size; ++i) {
    Thread& t = w->threads[i];
    if (t.fiber != nullptr && t.state != State::kFresh && t.state != State::kReturned) {
      current_thread = &t;
      switch_fiber(&w->main, t.fiber);
    }
  }
  acquire(w->end_tag);
}

}  // namespace

void run_block(Worker* w, std::uint64_t block) {
  const Index3 grid = w->grid->request.grid;
  set_up_block(
      w, {static_cast<unsigned>(block % grid.x), static_cast<unsigned>(block / grid.x % grid.y),
          static_cast<unsigned>(block / grid.x / grid.y)});
  if (kThreadSanitizer) assign_sanitizer_fibers(w, block);
  Thread* first = pick_runnable();
  Fiber* fiber = first->fiber != nullptr ? first->fiber : take_fiber();
  fiber->next = first;
  switch_fiber(&w->main, fiber);
  if (w->failed) unwind_suspended(w);
  current_thread = nullptr;
  if (LaunchObserver* observer = launch_observer()) {
    if (!observer->block_ended()) w->grid->abort = true;
  }
  w->stats.blocks++;
  w->stats.threads += static_cast<std::uint64_t>(w->size);
  const std::size_t shared = w->static_bytes + w->grid->request.shared_bytes;
  if (shared > w->stats.shared_bytes) w->stats.shared_bytes = shared;
}

}  // namespace octavo::simt::cpu
