#pragma once
// Topic "capacity_dispatch": chosen experts -> places in their buffers of C rows, or dropped. All
// first choices are placed before any second, each in token order (GShard, DropPolicy::kPosition).

#include "03_switch_deepseek_routing/capacity.h"
#include "common/base/view.h"
#include "common/base/work.h"

namespace octavo::switch_routing {

struct CapacityDispatchArgs {
  View<const int, 2> ids = {};        // [T, k]; outside [0, E), as -1 is: the slot goes nowhere
  View<const float, 2> weights = {};  // [T, k]
  std::int64_t capacity = 0;          // C >= 0 rows an expert, however large
  View<int, 2> place = {};            // [T, k] row of its expert's buffer, 0 .. C - 1; or -1
  View<float, 2> kept = {};           // [T, k] the weight, or 0 where the place is -1
  View<int, 1> load = {};             // [E] slots that wanted each expert

  std::int64_t slots() const { return ids.size(); }        // T k
  std::int64_t experts() const { return load.extent(0); }  // E
};

// Throws Error when the extents do not fit each other, when T k does not fit an int, or when an
// output lies over another operand.
void check_shapes(const CapacityDispatchArgs& args);

Work capacity_dispatch_work(std::int64_t T, std::int64_t E, std::int64_t k);

// What switch_routing::place does with DropPolicy::kPosition and AfterDrop::kKeep.
void capacity_dispatch_reference(const CapacityDispatchArgs& args);

}  // namespace octavo::switch_routing
