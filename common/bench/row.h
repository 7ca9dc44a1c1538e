#pragma once
// Row: one version on one shape in one number type, as a benchmark reports it.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/base/work.h"
#include "common/bench/ceilings.h"
#include "common/bench/kernel_counts.h"
#include "common/device/backend.h"

namespace octavo::bench {

struct Row {
  std::string topic, version, shape;  // shape: "T:128/D:4096/F:14336"
  Backend backend = Backend::kCpu;    // simt: a kernel, shown with its modelled times
  DType compute = DType::kF32;
  Work work;                           // the least the operation must do
  std::optional<KernelCounts> counts;  // of a kernel; none: not modelled
  int threads = 0;  // of the host; 1: `seconds` are processor time. 0: a kernel's row

  std::vector<double> seconds;  // of a call, one for each repetition; empty: not measured
  std::int64_t calls = 0;       // timed in all
  double max_error = -1;        // largest difference from v1 on this shape; negative: not measured
  double v1_seconds = 0;    // median of the topic's first version on this backend; 0: not measured
  double roof_seconds = 0;  // the least time on this machine, from measured ceilings; 0: none known
  std::string error;        // why the row does not count; empty when it does

  bool is_kernel() const { return backend != Backend::kCpu; }
  // "ffn/gpu_v2_tiled/bf16/T:128/D:4096/F:14336", and for the host "/threads:2"
  std::string name() const;
  bool measured() const { return !seconds.empty(); }
  double median() const;  // seconds; wants measured()
  double cv() const;      // standard deviation of the repetitions / mean
  // Percent of the roof that is reached; 0 without a roof.
  double roof_percent() const { return 100 * roof_seconds / median(); }
  double times_v1() const { return v1_seconds > 0 ? v1_seconds / median() : 0; }
};

// A row faster than its roof by more than a tenth has a wrong work model or set-up.
inline constexpr double kRoofLimit = 110;

// Fills roof_seconds of the rows of the host from the ceilings and v1_seconds from the first
// version of the same topic, backend, type, shape and threads, and gives rows above kRoofLimit
// their error.
void judge(std::vector<Row>& rows, const Ceilings& ceilings);

// Gives the kernels' rows the counts of their names.
void attach(std::vector<Row>& rows, const CountsByRow& counts);

// The rows as Google Benchmark's JSON "benchmarks": one entry a row, times in ns, our counters as
// its fields.
nlohmann::json to_json(const std::vector<Row>& rows);

}  // namespace octavo::bench
