#include <algorithm>

#include "03_switch_deepseek_routing/capacity_dispatch.h"
#include "common/base/error.h"
#include "common/device/overlap.h"

namespace octavo::switch_routing {

void check_shapes(const CapacityDispatchArgs& a) {
  const auto shape = a.ids.extents();
  require(a.weights.extents() == shape && a.place.extents() == shape && a.kept.extents() == shape,
          "capacity dispatch: ids are [{}, {}], and weights, places and kept weights must be too",
          shape[0], shape[1]);
  require(a.capacity >= 0 && a.experts() >= 1, "capacity dispatch: {} rows for each of {} experts",
          a.capacity, a.experts());
  constexpr std::int64_t kLimit = INT32_MAX - 4096;  // a chunk beyond the end must not overflow
  require(a.slots() <= kLimit, "capacity dispatch: {} slots, at most {}", a.slots(), kLimit);
  require_apart("capacity dispatch", {{"place", a.place}, {"kept", a.kept}, {"load", a.load}},
                {{"ids", a.ids}, {"weights", a.weights}});
}

Work capacity_dispatch_work(std::int64_t T, std::int64_t E, std::int64_t k) {
  return {.flops = 0, .bytes = 16 * static_cast<double>(T * k) + 4 * static_cast<double>(E)};
}

// Expert after expert: its slots in order of priority get its places until there are no more.
void capacity_dispatch_reference(const CapacityDispatchArgs& a) {
  check_shapes(a);
  std::fill_n(a.place.data(), a.slots(), -1);
  std::fill_n(a.kept.data(), a.slots(), 0.0f);
  for (std::int64_t e = 0; e < a.experts(); ++e) {
    int wanted = 0;
    for (std::int64_t j = 0; j < a.ids.extent(1); ++j) {
      for (std::int64_t t = 0; t < a.ids.extent(0); ++t) {
        if (a.ids(t, j) != e) continue;
        if (wanted < a.capacity) {
          a.place(t, j) = wanted;
          a.kept(t, j) = a.weights(t, j);
        }
        ++wanted;
      }
    }
    a.load(e) = wanted;
  }
}

}  // namespace octavo::switch_routing
