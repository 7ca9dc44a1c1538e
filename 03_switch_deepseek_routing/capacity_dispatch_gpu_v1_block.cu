// ids and weights [T, k], capacity C -> place and kept weight [T, k], load [E].
//
// Idea: a slot's place is the number of slots before it, in order of priority, that want the same
// expert: a running count. One block walks through all slots, 256 at a time, and carries the counts
// on. Counting with atomics would be shorter, and would drop other tokens in every run.
//
// What limits it: one multiprocessor works, the others watch; four barriers for every 256 slots,
// and 8 E counters to clear and to sum.
//
// Grid: one block of 256 threads; 36 E bytes of shared memory. FLOPs: none.
// Bytes: 8 T k read, 8 T k + 4 E written.

#include "03_switch_deepseek_routing/capacity_dispatch_params.h"
#include "03_switch_deepseek_routing/gpu_versions.h"
#include "common/simt/launch.h"

namespace octavo::switch_routing {
namespace {

using namespace device;

// A thread owns a slot of each chunk, and every 256th expert's counters.
__global__ void __launch_bounds__(kDispatchThreads) block_kernel(DispatchParams a) {
  int* const seen = dynamic_shared<int>();
  int* const warps = seen + a.E;
  for (int e = threadIdx.x; e < a.E; e += kDispatchThreads) seen[e] = 0;
  const int slots = a.T * a.k;
  for (int begin = 0; begin < slots; begin += kDispatchThreads) {
    place_chunk(a, begin, slots, seen, warps);
  }
  for (int e = threadIdx.x; e < a.E; e += kDispatchThreads) a.load[e] = seen[e];
}

bool supports(const CapacityDispatchArgs& a, const Device&) {
  return a.experts() <= kMostDispatchExperts;
}

std::vector<LaunchConfig> launches(const CapacityDispatchArgs& a, const Device&) {
  return {{.kernel = "block",
           .block = {kDispatchThreads},
           .shared_bytes = 4 * dispatch_counters(a.experts())}};
}

void run(Exec& exec, const CapacityDispatchArgs& a, const Prepared&) {
  const DispatchParams p = params_of(a);
  for (const LaunchConfig& l : launches(a, exec.device)) launch(block_kernel, l, exec.stream, p);
}

}  // namespace

namespace SIMT_BACKEND {

Version<CapacityDispatchArgs> capacity_dispatch_gpu_v1_block() {
  return {.name = "gpu_v1_block",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = false,  // a capacity is shared by the whole batch
          .supports = supports,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::switch_routing
