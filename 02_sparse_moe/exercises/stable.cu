// Exercise: sort slots by expert so that the result does not depend on who comes first
//
// Topic "align": ids [T, k] -> offsets [E + 1] and order [T k], the slots sorted by expert,
// ascending inside one; align.h has the contract.
//
// The kernel below counts the slots of each expert, adds the counts up to starts, and lets every
// slot take its expert's next place. Each expert gets its own slots, so that a layer's output is
// right up to rounding. But which place a slot gets is decided by the race for it: a second run may
// order an expert's rows in another way, and whatever sums by place then rounds in another way.
//
// Your task: give every slot its place inside its expert by its number, with no race. Counting may
// keep its atomics: a sum of integers is the same in every order. The block may take its time.
//
//   ./run exercise 02 stable              judges this file
//   ./run exercise 02 stable --solution   judges exercises/solutions/stable.cu

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

// The block owns everything; a thread every 128th slot.
__global__ void __launch_bounds__(kThreads) kernel(Params a) {
  SIMT_SHARED(int, next, [kExperts]);  // counts, then each expert's next place
  SIMT_SHARED(int, placed, [1]);
  const int me = threadIdx.x;
  for (int e = me; e < a.E; e += kThreads) next[e] = 0;
  __syncthreads();  // all are 0
  for (int slot = me; slot < a.slots; slot += kThreads) {
    const int id = a.ids[slot];
    if (id >= 0 && id < a.E) atomicAdd(&next[id], 1);
  }
  __syncthreads();  // all have counted
  if (me == 0) {
    int start = 0;
    for (int e = 0; e < a.E; ++e) {
      const int count = next[e];
      a.offsets[e] = next[e] = start;
      start += count;
    }
    a.offsets[a.E] = placed[0] = start;
  }
  __syncthreads();  // the starts are there
  for (int slot = me; slot < a.slots; slot += kThreads) {
    const int id = a.ids[slot];
    if (id >= 0 && id < a.E) a.order[atomicAdd(&next[id], 1)] = slot;
  }
  for (int i = placed[0] + me; i < a.slots; i += kThreads) a.order[i] = -1;
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
