// Exercise: give every token the same place in every run
//
// A router under a capacity: place [T, k] is the row of an expert's buffer that a slot gets, or -1
// if the expert has C slots already. All first choices are placed before any second, each in token
// order. The kernel below asks a counter of each expert for the next place, with an atomic
// addition. Every expert gets the right number of tokens, and never more than C; which ones they
// are, and whether first choices come first, is left to chance.
//
// Your task: make the places those of the order above, whatever order the threads run in. One block
// is enough; time is no object. An atomic addition tells how many came before, not who.
//
//   ./run exercise 03 places              judges this file
//   ./run exercise 03 places --solution   judges exercises/solutions/places.cu

#include "03_switch_deepseek_routing/capacity_dispatch_params.h"
#include "03_switch_deepseek_routing/exercises/exercises.h"
#include "common/simt/launch.h"

namespace octavo::switch_routing {
namespace {

using namespace device;

constexpr int kThreads = 128;

// A thread owns every 128th slot.
__global__ void __launch_bounds__(kThreads) places_kernel(DispatchParams a) {
  int* const next = dynamic_shared<int>();  // [E] the next place of each expert
  for (int e = threadIdx.x; e < a.E; e += kThreads) next[e] = 0;
  __syncthreads();
  for (int slot = threadIdx.x; slot < a.T * a.k; slot += kThreads) {
    const int e = a.ids[slot];
    const int place = a.is_expert(e) ? atomicAdd(&next[e], 1) : a.C;
    a.place[slot] = place < a.C ? place : -1;
    a.kept[slot] = place < a.C ? a.weights[slot] : 0.0f;
  }
  __syncthreads();
  for (int e = threadIdx.x; e < a.E; e += kThreads) a.load[e] = next[e];
}

std::vector<LaunchConfig> launches(const CapacityDispatchArgs& a, const Device&) {
  return {{.kernel = "exercise", .block = {kThreads}, .shared_bytes = 4 * a.experts()}};
}

void run(Exec& exec, const CapacityDispatchArgs& a, const Prepared&) {
  check_shapes(a);
  for (const LaunchConfig& l : launches(a, exec.device)) {
    launch(places_kernel, l, exec.stream, params_of(a));
  }
}

}  // namespace

namespace SIMT_BACKEND {

Version<CapacityDispatchArgs> exercise_places() {
  return {.name = "exercise",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32},
          .batch_invariant = false,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::switch_routing
