// Solution of the exercise "places".
//
// A slot's place is the number of slots before it, in order of priority, that want its expert, and
// not the number of threads that were quicker. A thread an expert counts exactly that, walking
// through the slots in their order: nobody else writes what it reads, so that nothing depends on
// who runs when. It costs T k steps one after the other. capacity_dispatch_gpu_v1_block.cu takes
// 256 slots at a time and ranks them with a match of ids; v2 also shares them out among blocks.

#include "03_switch_deepseek_routing/capacity_dispatch_params.h"
#include "03_switch_deepseek_routing/exercises/exercises.h"
#include "common/simt/launch.h"

namespace octavo::switch_routing {
namespace {

using namespace device;

constexpr int kThreads = 128;

// A thread owns every 128th expert; thread 0 also the slots that go nowhere.
__global__ void __launch_bounds__(kThreads) places_kernel(DispatchParams a) {
  for (int e = threadIdx.x; e < a.E; e += kThreads) {
    int next = 0;
    for (int n = 0; n < a.T * a.k; ++n) {
      const int slot = slot_at(n, a.T, a.k), id = a.ids[slot];
      if (!a.is_expert(id) && e == 0) {
        a.place[slot] = -1;
        a.kept[slot] = 0.0f;
      }
      if (id != e) continue;
      a.place[slot] = next < a.C ? next : -1;
      a.kept[slot] = next < a.C ? a.weights[slot] : 0.0f;
      ++next;
    }
    a.load[e] = next;
  }
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
