#pragma once
// Topic "align": the slots of a plan sorted by expert, so that an expert finds its rows together. A
// slot is one (token, choice) pair: slot = t * k + j.

#include <cstdint>

#include "common/base/view.h"
#include "common/base/work.h"

namespace octavo {

// A stable counting sort. The number of experts comes from `offsets`.
struct AlignArgs {
  View<const int, 2> ids = {};  // [T, k]; outside [0, E), as -1 is: the slot goes nowhere
  // [E + 1]; expert e owns order[offsets[e] .. offsets[e + 1]), the last is the number of slots
  // placed
  View<int, 1> offsets = {};
  // [T * k] slots by expert, ascending inside an expert; behind offsets[E] they are -1
  View<int, 1> order = {};

  std::int64_t slots() const { return ids.size(); }               // T * k
  std::int64_t experts() const { return offsets.extent(0) - 1; }  // E
};

// Throws Error when the extents do not fit each other, when T * k does not fit an int, or when
// offsets or order lie over another operand.
void check_shapes(const AlignArgs& args);

// The least a sort must do: read the ids, write offsets and order.
Work align_work(std::int64_t T, std::int64_t top_k, std::int64_t E);

void align_reference(const AlignArgs& args);

}  // namespace octavo
