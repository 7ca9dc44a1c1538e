// Warp operations: a lane leaves its operands and waits; the last lane of the mask computes for
// all.

#include <bit>

#include "common/simt/runtime/state.h"

namespace octavo::simt::cpu {
namespace {

// Calls f(lane) for each set bit.
template <class F>
void for_each_lane(std::uint32_t mask, F f) {
  for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
}

void count_operation(const WarpOp& op) {
  LaunchStats& stats = this_worker->stats;
  stats.warp_operations++;
  if (op.kind == WarpKind::kMma) {
    stats.mma++;
    stats.mma_flops += static_cast<std::uint64_t>(op.a);
  }
}

// Completes `op` when all live lanes of its mask have arrived; false when some are missing.
bool try_complete(Warp& warp, WarpOp& op) {
  const std::uint32_t needed = op.mask & warp.existing & ~warp.returned;
  if (needed & ~warp.pending) return false;
  Lanes lanes;
  lanes.mask = needed;
  bool together = true;  // a lane may still be in an operation with others
  for_each_lane(needed, [&](int l) {
    lanes.op[l] = warp.thread[l]->op;
    together &= lanes.op[l]->mask == op.mask;
  });
  if (!together) return false;
  warp.pending &= ~needed;
  op.combine(lanes);
  count_operation(op);
  void* tag = nullptr;
  if (op.kind == WarpKind::kSync) {  // only __syncwarp orders memory among the lanes
    tag = &warp.tags[warp.generation++ % 64];
    for_each_lane(needed, [&](int l) { acquire(warp.thread[l]->tag); });
    release(tag);
  }
  for_each_lane(needed, [&](int l) {
    Thread* thread = warp.thread[l];
    thread->op->tag = tag;
    thread->op = nullptr;
    if (thread->state == State::kInWarpOp) {
      thread->state = State::kReady;
      push_runnable(thread);
    }
  });
  return true;
}

// Lanes that do one operation together must agree on what, with whom, and where. A waiting lane
// whose own mask leaves this one out is on its way: it does something with others first. Comparing
// with one of the rest is enough, since those were compared with each other.
void check_agreement(const Thread* me, const WarpOp& op) {
  const Warp& warp = *me->warp;
  const bool strict = this_worker->options.strict;
  if (!(op.mask >> me->lane & 1)) {
    fail(fmt::format("{}: the calling lane {} is not in its own mask 0x{:08x}", op.name, me->lane,
                     op.mask),
         op.site);
  }
  if (strict && (op.mask & warp.returned)) {
    fail(fmt::format("{}: the mask 0x{:08x} names lanes that have returned (0x{:08x})", op.name,
                     op.mask, op.mask & warp.returned),
         op.site);
  }
  for (std::uint32_t waiting = op.mask & warp.pending; waiting != 0; waiting &= waiting - 1) {
    const int lane = std::countr_zero(waiting);
    const WarpOp& other = *warp.thread[lane]->op;
    if (!(other.mask >> me->lane & 1)) continue;
    if (other.combine == op.combine && other.mask == op.mask &&
        (!strict || other.site.line == op.site.line))
      return;
    fail(fmt::format(
             "divergent warp operation: lane {} does {} with mask 0x{:08x} at {}, while lane {} of "
             "that mask waits in {} with mask 0x{:08x} at {}",
             me->lane, op.name, op.mask, text_of(op.site), lane, other.name, other.mask,
             text_of(other.site)),
         op.site);
  }
}

}  // namespace

void warp_op(WarpOp& op) {
  Thread* me = running();
  Warp& warp = *me->warp;
  check_agreement(me, op);
  me->op = &op;
  warp.pending |= 1u << me->lane;
  me->doing = op.name;
  me->site = op.site;
  const bool orders = op.kind == WarpKind::kSync;
  if (orders) release(me->tag);
  if (!try_complete(warp, op)) {
    me->state = State::kInWarpOp;
    block_until_resumed(me);
  } else if (overtaking(this_worker)) {
    yield_to_others(me);
  }
  if (orders) acquire(op.tag);
}

void warp_lane_returned(Thread* thread) {
  Warp& warp = *thread->warp;
  warp.returned |= 1u << thread->lane;
  for_each_lane(warp.existing & warp.pending, [&](int l) {
    WarpOp* op = warp.thread[l]->op;
    if (op == nullptr || !(op->mask >> thread->lane & 1)) return;
    if (this_worker->options.strict) {
      fail(fmt::format("the thread returned while lane {} waits for it in {} at {}", l, op->name,
                       text_of(op->site)),
           thread->site);
    }
    try_complete(warp, *op);
  });
}

}  // namespace octavo::simt::cpu
