#pragma once
// The counts of the kernel rows. Kernels that report each access are slow and make the code around
// them slow, so a benchmark is two programs of one main: chNN_bench times, and asks chNN_counts
// beside it, which has the profiled kernels, for their counts.

#include <functional>
#include <string>
#include <vector>

#include "common/bench/case.h"
#include "common/bench/kernel_counts.h"

namespace octavo::bench {

struct CallProfile {
  KernelCounts counts;
  std::string text;  // each kernel, line by line
};

// Runs a call under a profiler. Launches are sampled: a row's shape is a real model's.
using ProfileCall = CallProfile (*)(const std::function<void()>& call);

// The profiler of this program; null in a program without profiled kernels.
ProfileCall linked_profiler();

// Profiles the executor's cases whose names the filter lets through (as --benchmark_filter does)
// and prints them line by line, or as JSON. Returns 0, or 1 when a kernel failed.
int profile_rows(const std::vector<Case>& cases, const std::string& filter, bool json,
                 ProfileCall profile);

// What the counting program beside this one counts. Kernels without counts are not modelled; stderr
// says why.
CountsByRow counts_from_program(const std::string& filter);

// Whether --benchmark_filter=FILTER selects a name: a regular expression, a leading '-' negates.
bool filter_selects(const std::string& filter, const std::string& name);

}  // namespace octavo::bench
