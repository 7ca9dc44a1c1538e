// Barriers of a block: 0 is __syncthreads, 1 to 15 are the named ones.

#include <cstring>

#include "common/base/counted.h"
#include "common/simt/runtime/state.h"

namespace octavo::simt::cpu {
namespace {

void open_barrier(Worker* w, int id) {
  Barrier& barrier = w->barriers[id];
  for (int i = 0; i < w->size; ++i) {
    Thread& thread = w->threads[i];
    if (thread.state != State::kInBarrier || thread.barrier != id) continue;
    thread.state = State::kReady;
    thread.result = barrier.sum;
    push_runnable(&thread);
  }
  barrier.arrived = barrier.sum = 0;
  barrier.generation++;
  w->stats.barriers++;
}

// How many threads open the barrier: all that have not returned, or the count of a named one.
int expected(const Worker* w, int id) {
  return id == 0 ? w->size - w->returned : w->barriers[id].count;
}

void check_block_barrier(const Worker* w, const Barrier& barrier, const char* name, CallSite site) {
  if (barrier.arrived != 0 &&
      (barrier.site.line != site.line || std::strcmp(barrier.site.file, site.file) != 0)) {
    fail(
        fmt::format(
            "threads of one block wait at two different barriers: {} of them in {} at {}, this one "
            "in {} at {}",
            barrier.arrived, barrier.name, text_of(barrier.site), name, text_of(site)),
        site);
  }
  if (w->returned != 0) {
    fail(fmt::format("{} at {}, which {} of the block will never reach: {} returned", name,
                     text_of(site), counted(w->returned, "thread"),
                     w->returned == 1 ? "it" : "they"),
         site);
  }
}

void check_named_barrier(const Worker* w, const Barrier& barrier, int id, int count,
                         const char* name, CallSite site) {
  if (id < 1 || id >= kBarriers)
    fail(fmt::format("{}: barrier {}, must be from 1 to 15", name, id), site);
  if (count < 32 || count % 32 != 0 || count > (w->size + 31) / 32 * 32) {
    fail(fmt::format("{}: {}, must be a multiple of 32 from 32 to the block's {}", name,
                     counted(count, "thread"), w->size),
         site);
  }
  if (barrier.arrived != 0 && barrier.count != count) {
    fail(fmt::format("{}: barrier {} waits for {} since {}, this call names {}", name, id,
                     counted(barrier.count, "thread"), text_of(barrier.site), count),
         site);
  }
}

}  // namespace

int block_barrier(int id, int count, int predicate, BarrierKind kind, const char* name,
                  CallSite site) {
  Worker* w = this_worker;
  Thread* me = running();
  if (count != 0 || id != 0) {
    check_named_barrier(w, w->barriers[id & (kBarriers - 1)], id, count, name, site);
  } else if (w->options.strict) {
    check_block_barrier(w, w->barriers[0], name, site);
  }
  Barrier& barrier = w->barriers[id];
  if (barrier.arrived == 0) {
    barrier.name = name;
    barrier.site = site;
    barrier.count = count;
  }
  barrier.arrived++;
  barrier.sum += predicate;
  me->doing = name;
  me->site = site;
  me->barrier = id;
  unsigned char* tag = &barrier.tags[barrier.generation & 1];
  release(tag);
  int sum = 0;
  if (barrier.arrived == expected(w, id)) {
    sum = barrier.sum;
    open_barrier(w, id);
    if (overtaking(w)) yield_to_others(me);
  } else if (kind == BarrierKind::kSync) {
    me->state = State::kInBarrier;
    block_until_resumed(me);
    sum = me->result;
  }
  if (kind == BarrierKind::kSync) acquire(tag);
  return sum;
}

void barrier_thread_returned(Thread* thread) {
  Worker* w = this_worker;
  Barrier& barrier = w->barriers[0];
  if (barrier.arrived == 0) return;
  if (w->options.strict) {
    fail(fmt::format("the thread returned while {} of the block {} in {} at {}",
                     counted(barrier.arrived, "thread"), barrier.arrived == 1 ? "waits" : "wait",
                     barrier.name, text_of(barrier.site)),
         thread->site);
  }
  if (barrier.arrived == expected(w, 0)) open_barrier(w, 0);
}

}  // namespace octavo::simt::cpu
