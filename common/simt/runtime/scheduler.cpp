// Who runs next. A worker has one queue of runnable threads; the schedule decides which of them is
// taken.

#include <exception>
#include <utility>

#include "common/simt/runtime/state.h"

namespace octavo::simt::cpu {

thread_local constinit ThreadView* current_thread = nullptr;
thread_local constinit const LaunchView* current_launch = nullptr;
thread_local constinit Worker* this_worker = nullptr;

namespace {
constexpr const char* kDeadlock = "deadlock: no thread of the block can go on";
}  // namespace

void push_runnable(Thread* thread) {
  Worker* w = this_worker;
  w->ring[(w->head + w->runnable++) & (w->ring_size - 1)] = thread;
}

Thread* pick_runnable() {
  Worker* w = this_worker;
  if (w->runnable == 0) return nullptr;
  const auto at = [w](int i) -> Thread*& { return w->ring[(w->head + i) & (w->ring_size - 1)]; };
  int chosen = 0;
  if (w->options.schedule == Schedule::kRandom) {
    chosen = static_cast<int>(random_bits(w) % static_cast<std::uint64_t>(w->runnable));
  } else if (w->options.schedule >= Schedule::kPct) {
    for (int i = 1; i < w->runnable; ++i) {
      if (at(i)->priority > at(chosen)->priority) chosen = i;
    }
    if (w->options.schedule == Schedule::kPct && random_bits(w) % 64 == 0) {
      at(chosen)->priority = random_bits(w) >> 1;
    }
  }
  Thread* thread = at(chosen);
  if (chosen != 0) std::swap(at(chosen), at(0));
  w->head = (w->head + 1) & (w->ring_size - 1);
  w->runnable--;
  return thread;
}

void switch_fiber(Fiber* from, Fiber* to) {
  this_worker->stats.switches++;
  before_switch(&from->fake_stack, to->stack, to->bytes);
  enter_sanitizer_fiber(to->sanitizer_fiber);
  switch_context(from->context, to->context);
  after_switch(from->fake_stack);
}

// The running thread cannot go on, or lets others pass: the next runnable thread gets the CPU, and
// this returns when `me` is picked again.
void block_until_resumed(Thread* me) {
  Worker* w = this_worker;
  Thread* next = pick_runnable();
  if (next == nullptr) fail(kDeadlock, me->site);
  if (next != me) {
    Fiber* fiber = next->fiber;
    if (fiber == nullptr) {
      fiber = take_fiber();
      fiber->next = next;
    }
    switch_fiber(me->fiber, fiber);
    if (w->unwinding) throw Unwind{};
  }
  current_thread = me;
}

void yield_to_others(Thread* me) {
  push_runnable(me);
  block_until_resumed(me);
}

void maybe_preempt() {
  Worker* w = this_worker;
  if (w == nullptr) return;
  Thread* me = running();
  // A thread that spins on an atomic must let the one it waits for run.
  const bool now = overtaking(w) ? random_bits(w) % 4 == 0 : ++me->spins % 256 == 0;
  if (now && w->runnable != 0) yield_to_others(me);
}

namespace {

void run_thread(Thread* thread, Fiber* fiber) {
  Worker* w = this_worker;
  thread->fiber = fiber;
  thread->state = State::kReady;
  current_thread = thread;
  acquire(w->start_tag);
  try {
    w->grid->request.body(w->grid->request.argument);
    thread_returned(thread);
  } catch (const Unwind&) {
  } catch (const std::exception& e) {
    record_error(fmt::format("the kernel threw an exception: {}", e.what()), thread->site);
  } catch (...) {
    record_error("the kernel threw an exception", thread->site);
  }
  if (thread->state != State::kReturned) release(w->end_tag);
  thread->state = State::kReturned;
  thread->fiber = nullptr;
}

}  // namespace

// A fiber's life: run the thread it was given, then another that has not started, without a switch;
// else give the stack back and go to whoever is runnable, or to the worker when the block is done.
void fiber_main(void* argument) {
  Fiber* fiber = static_cast<Fiber*>(argument);
  after_switch(nullptr);
  for (;;) {
    Worker* w = this_worker;
    run_thread(fiber->next, fiber);
    Thread* next = w->failed ? nullptr : pick_runnable();
    if (next == nullptr) {
      if (!w->failed && w->returned != w->size) record_error(kDeadlock, {"", 0});
      if (!kThreadSanitizer) w->idle.push_back(fiber);
      switch_fiber(fiber, &w->main);
    } else if (next->fiber ==
               nullptr) {  // never so under the thread sanitizer: there a thread has its own
      fiber->next = next;
    } else {
      if (!kThreadSanitizer) w->idle.push_back(fiber);
      switch_fiber(fiber, next->fiber);
    }
  }
}

void thread_returned(Thread* thread) {
  Worker* w = this_worker;
  thread->state = State::kReturned;
  w->returned++;
  if (thread->copies != 0) {
    fail(fmt::format("the thread returned with {} cp.async copies that it did not wait for",
                     thread->copies),
         thread->site);
  }
  warp_lane_returned(thread);
  barrier_thread_returned(thread);
  release(w->end_tag);
}

}  // namespace octavo::simt::cpu
