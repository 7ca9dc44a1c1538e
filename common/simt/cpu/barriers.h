#pragma once
// __syncthreads and the named barriers.

#include "common/simt/backend.h"
#include "common/simt/cpu/keywords.h"
#include "common/simt/cpu/runtime.h"

namespace octavo::simt {
inline namespace SIMT_FLAVOUR {

inline void __syncthreads(SIMT_SITE) {
  cpu::block_barrier(0, 0, 0, cpu::BarrierKind::kSync, "__syncthreads", site);
}
inline int __syncthreads_count(int predicate, SIMT_SITE) {
  return cpu::block_barrier(0, 0, predicate != 0, cpu::BarrierKind::kSync, "__syncthreads_count",
                            site);
}
inline int __syncthreads_or(int predicate, SIMT_SITE) {
  return cpu::block_barrier(0, 0, predicate != 0, cpu::BarrierKind::kSync, "__syncthreads_or",
                            site) != 0;
}
inline int __syncthreads_and(int predicate, SIMT_SITE) {
  return cpu::block_barrier(0, 0, predicate == 0, cpu::BarrierKind::kSync, "__syncthreads_and",
                            site) == 0;
}

// Barrier `id` (1 to 15) for `count` threads, whole warps: PTX bar.sync and bar.arrive. It opens
// when `count` threads have come, either to wait (sync) or to pass on (arrive); all must name the
// same count.
inline void named_barrier_sync(int id, int count, SIMT_SITE) {
  cpu::block_barrier(id, count, 0, cpu::BarrierKind::kSync, "named_barrier_sync", site);
}
inline void named_barrier_arrive(int id, int count, SIMT_SITE) {
  cpu::block_barrier(id, count, 0, cpu::BarrierKind::kArrive, "named_barrier_arrive", site);
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::simt

using octavo::simt::__syncthreads;
using octavo::simt::__syncthreads_and;
using octavo::simt::__syncthreads_count;
using octavo::simt::__syncthreads_or;
