// ids and weights [T, k], capacity C -> place and kept weight [T, k], load [E], on the host.
//
// Idea: the running counts, one for each expert, in one pass over the slots in order of priority.
// The reference looks at all slots once for each expert. What limits it: the pass is serial.

#include <algorithm>

#include "03_switch_deepseek_routing/cpu_versions.h"

namespace octavo::switch_routing {
namespace {

void run(Exec&, const CapacityDispatchArgs& a, const Prepared&) {
  check_shapes(a);
  std::fill_n(a.load.data(), a.experts(), 0);
  for (std::int64_t j = 0; j < a.ids.extent(1); ++j) {
    for (std::int64_t t = 0; t < a.ids.extent(0); ++t) {
      const int e = a.ids(t, j);
      const bool wanted = e >= 0 && e < a.experts();
      const int rank = wanted ? a.load(e)++ : 0;
      const bool kept = wanted && rank < a.capacity;
      a.place(t, j) = kept ? rank : -1;
      a.kept(t, j) = kept ? a.weights(t, j) : 0;
    }
  }
}

}  // namespace

Version<CapacityDispatchArgs> capacity_dispatch_cpu_v1_scan() {
  return {.name = "cpu_v1_scan",
          .backend = Backend::kCpu,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = false,  // a capacity is shared by the whole batch
          .run = run};
}

}  // namespace octavo::switch_routing
