#include <algorithm>

#include "03_switch_deepseek_routing/capacity_dispatch.h"
#include "common/base/error.h"

namespace octavo::switch_routing {

void check_shapes(const CapacityDispatchArgs& a) {
  const auto shape = a.ids.extents();
  require(a.weights.extents() == shape && a.place.extents() == shape && a.kept.extents() == shape,
          "capacity dispatch: ids are [{}, {}], and weights, places and kept weights must be too",
          shape[0], shape[1]);
  require(a.capacity >= 0 && a.experts() >= 1, "capacity dispatch: {} rows for each of {} experts",
          a.capacity, a.experts());
}

Work capacity_dispatch_work(std::int64_t T, std::int64_t E, std::int64_t k) {
  return {.flops = 0, .bytes = 16 * static_cast<double>(T * k) + 4 * static_cast<double>(E)};
}

void capacity_dispatch_reference(const CapacityDispatchArgs& a) {
  check_shapes(a);
  Choices c{.tokens = a.ids.extent(0), .experts = a.experts(), .top_k = a.ids.extent(1)};
  c.ids.assign(a.ids.data(), a.ids.data() + a.slots());
  c.weights.assign(a.weights.data(), a.weights.data() + a.slots());
  const CapacityPlan plan = place(c, a.capacity, DropPolicy::kPosition, AfterDrop::kKeep);
  std::ranges::copy(plan.place, a.place.data());
  std::ranges::copy(plan.weights, a.kept.data());
  std::ranges::transform(plan.load, a.load.data(), [](auto n) { return static_cast<int>(n); });
}

}  // namespace octavo::switch_routing
