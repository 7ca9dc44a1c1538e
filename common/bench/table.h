#pragma once
// The table a benchmark prints: CPU rows, kernels with the times a model gives them, and kernels
// measured on a GPU, side by side.

#include <string>
#include <vector>

#include "common/bench/row.h"

namespace octavo::bench {

// One block for each (topic, type, shape), one line for each version. Its heading says the least
// time that the operation's work allows on each GPU; a kernel's line the time that a model makes of
// its counts. What was not measured or not modelled says so; a row with an error shows the error. A
// kernel that was measured and one that was modelled share a line.
std::string table(const std::vector<Row>& rows);

// Three digits in the unit that needs no more: "812 ns", "14.2 us", "3.05 ms", "12 s", "22 min".
std::string format_time(double seconds);

}  // namespace octavo::bench
