// A thread's queue of cp.async copies that have been issued and not yet waited for, oldest first.

#include "common/simt/runtime/state.h"

namespace octavo::simt::cpu {

void async_push(AsyncCopy copy) {
  Thread* t = running();
  if (t->copies == kMaxCopies) {
    fail(fmt::format("more than {} cp.async copies of one thread that were not waited for",
                     kMaxCopies),
         t->site);
  }
  copy.group = t->group;
  t->queue[(t->first_copy + t->copies++) % kMaxCopies] = copy;
}

void async_commit() { running()->group++; }

AsyncCopy async_pop(int groups_left) {
  Thread* t = running();
  const AsyncCopy copy = t->queue[t->first_copy];
  if (t->copies == 0 || copy.group >= t->group - groups_left) return {nullptr, nullptr, 0, 0};
  t->first_copy = (t->first_copy + 1) % kMaxCopies;
  t->copies--;
  return copy;
}

bool async_at_once() { return overtaking(this_worker) && random_bits(this_worker) % 2 == 0; }

}  // namespace octavo::simt::cpu
