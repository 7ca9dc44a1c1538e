#pragma once
// What the kernels of "capacity_dispatch" get by value, and the step that both take: 256 slots in
// order of priority are ranked among those that want the same expert.

#include <algorithm>

#include "03_switch_deepseek_routing/capacity_dispatch.h"
#include "common/simt/simt.h"

namespace octavo::switch_routing {

struct DispatchParams {
  const int* ids;        // [T, k]
  const float* weights;  // [T, k]
  int* place;            // [T, k]
  float* kept;           // [T, k]
  int* load;             // [E]
  int T, k, E, C;
};

inline DispatchParams params_of(const CapacityDispatchArgs& a) {
  return {.ids = a.ids.data(),
          .weights = a.weights.data(),
          .place = a.place.data(),
          .kept = a.kept.data(),
          .load = a.load.data(),
          .T = static_cast<int>(a.ids.extent(0)),
          .k = static_cast<int>(a.ids.extent(1)),
          .E = static_cast<int>(a.experts()),
          .C = static_cast<int>(std::min(a.capacity, a.slots()))};
}

inline constexpr int kDispatchThreads = 256, kDispatchWarps = kDispatchThreads / 32;
inline constexpr int kMostDispatchExperts = 1024;

// Ints of dynamic shared memory: a counter for each warp and expert, and a total for each expert.
inline std::int64_t dispatch_counters(std::int64_t E) { return (kDispatchWarps + 1) * E; }

namespace device {
inline namespace SIMT_FLAVOUR {

using namespace simt;

// The n-th slot in order of priority: all first choices, then all second ones.
__device__ __forceinline__ int slot_at(int n, int T, int k) { return n % T * k + n / T; }

// Places the slots of priority [begin, begin + 256) below end: a thread a slot, its rank being the
// slots of lower priority that want its expert. Within a warp the rank is counted by a match of
// ids; across warps by counters, warps[w][e] and then their running sums; before `begin` it is
// seen[e], which moves on. No atomics: the result is one, whatever the order of the threads.
__device__ inline void place_chunk(const DispatchParams& a, int begin, int end, int* seen,
                                   int* warps) {
  const int thread = threadIdx.x, warp = thread / 32;
  const int n = begin + thread;
  const int slot = n < end ? slot_at(n, a.T, a.k) : 0;
  const int e = n < end ? a.ids[slot] : -1;
  for (int i = thread; i < kDispatchWarps * a.E; i += kDispatchThreads) warps[i] = 0;
  __syncthreads();  // counters are 0
  const unsigned same = __match_any_sync(kFullMask, e);
  const int before = __popc(same & ((1u << lane_index()) - 1u));
  if (e >= 0 && before == 0) warps[warp * a.E + e] = __popc(same);
  __syncthreads();  // every warp has counted
  for (int i = thread; i < a.E; i += kDispatchThreads) {
    int sum = seen[i];
    for (int w = 0; w < kDispatchWarps; ++w) {
      const int count = warps[w * a.E + i];
      warps[w * a.E + i] = sum;
      sum += count;
    }
    seen[i] = sum;
  }
  __syncthreads();  // the counters are running sums
  if (n < end) {
    const int rank = e >= 0 ? warps[warp * a.E + e] + before : a.C;
    a.place[slot] = rank < a.C ? rank : -1;
    a.kept[slot] = rank < a.C ? a.weights[slot] : 0.0f;
  }
  __syncthreads();  // and have been read: the next chunk may clear them
}

}  // namespace SIMT_FLAVOUR
}  // namespace device
}  // namespace octavo::switch_routing
