// Solution of the exercise "stable".
//
// Topic "align": ids [T, k] -> offsets [E + 1] and order [T k], the slots sorted by expert,
// ascending inside one; align.h has the contract.
//
// The race was for places of one expert, so each expert gets one thread that hands them out: it
// walks the slots in order and takes those that are its own. Nothing is shared any more, and the
// counting falls away with the race: a thread's last place less its first is its count. Threads
// read the same ids at the same time, which one access serves. gpu_v1_block shows how the walk
// itself is shared out.

#include "02_sparse_moe/exercises/exercises.h"
#include "common/simt/launch.h"

namespace octavo::sparse_moe {
namespace {

using namespace simt;

constexpr int kThreads = 128, kExperts = 1024;

struct Params {
  const int* ids;  // [slots]
  int* offsets;    // [E + 1]
  int* order;      // [slots]
  int slots, E;
};

// The block owns everything; a thread every 128th expert.
__global__ void __launch_bounds__(kThreads) kernel(Params a) {
  SIMT_SHARED(int, starts, [kExperts + 1]);
  const int me = threadIdx.x;
  for (int e = me; e < a.E; e += kThreads) {
    int count = 0;
    for (int slot = 0; slot < a.slots; ++slot) count += a.ids[slot] == e;
    starts[e + 1] = count;
  }
  __syncthreads();  // all have counted
  if (me == 0) {
    starts[0] = 0;
    for (int e = 0; e < a.E; ++e) starts[e + 1] += starts[e];
  }
  __syncthreads();  // the starts are there
  for (int e = me; e <= a.E; e += kThreads) {
    a.offsets[e] = starts[e];
    int next = starts[e];
    for (int slot = 0; slot < a.slots && e < a.E; ++slot) {
      if (a.ids[slot] == e) a.order[next++] = slot;
    }
  }
  for (int i = starts[a.E] + me; i < a.slots; i += kThreads) a.order[i] = -1;
}

std::vector<LaunchConfig> launches(const AlignArgs&, const Device&) {
  return {{.kernel = "exercise", .block = {kThreads}, .needs_whole_grid = true}};
}

void run(Exec& exec, const AlignArgs& a, const Prepared&) {
  check_shapes(a);
  require(a.experts() <= kExperts, "align: {} experts, at most {}", a.experts(), kExperts);
  const Params p = {a.ids.data(), a.offsets.data(), a.order.data(), static_cast<int>(a.slots()),
                    static_cast<int>(a.experts())};
  for (const LaunchConfig& l : launches(a, exec.device)) launch(kernel, l, exec.stream, p);
}

}  // namespace

namespace SIMT_BACKEND {

Version<AlignArgs> exercise_stable() {
  return {.name = "exercise",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32},
          .batch_invariant = true,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::sparse_moe
