#include "common/bench/row.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/base/error.h"
#include "common/device/gpu_spec.h"

namespace octavo::bench {
namespace {

std::string lower(std::string_view text) {
  std::string s(text);
  std::transform(s.begin(), s.end(), s.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return s;
}

bool same_operation(const Row& a, const Row& b) {
  return a.topic == b.topic && a.backend == b.backend && a.compute == b.compute &&
         a.shape == b.shape && a.threads == b.threads;
}

nlohmann::json entry(const Row& row) {
  nlohmann::json e = {{"name", row.name()},
                      {"run_name", row.name()},
                      {"topic", row.topic},
                      {"version", row.version},
                      {"backend", name_of(row.backend)},
                      {"dtype", lower(name_of(row.compute))},
                      {"shape", row.shape},
                      {"flops", row.work.flops},
                      {"bytes", row.work.bytes},
                      {"AI", row.work.intensity()}};
  if (row.counts) {
    e["counts"] = to_json(*row.counts);
    for (const GpuSpec& gpu : gpu_specs())
      e["model_ns"][std::string(gpu.name)] = 1e9 * model_seconds(gpu, row.work, *row.counts);
  }
  if (row.threads > 0) e["threads"] = row.threads;
  if (row.max_error >= 0) e["max_error"] = row.max_error;
  if (!row.error.empty()) {
    e["error_occurred"] = true;
    e["error_message"] = row.error;
  }
  if (!row.measured()) return e;
  const double median = row.median();
  e["run_type"] = "aggregate";
  e["aggregate_name"] = "median";
  e["repetitions"] = row.seconds.size();
  e["iterations"] = row.calls;
  e["real_time"] = 1e9 * median;
  e["time_unit"] = "ns";
  e["cv"] = row.cv();
  e["GB/s"] = row.work.bytes / median / 1e9;
  e["TFLOP/s"] = row.work.flops / median / 1e12;
  if (row.roof_seconds > 0) e["roof%"] = row.roof_percent();
  if (row.v1_seconds > 0) e["x_v1"] = row.times_v1();
  return e;
}

}  // namespace

std::string Row::name() const {
  const std::string plain =
      fmt::format("{}/{}/{}/{}", topic, version, lower(name_of(compute)), shape);
  return threads > 0 ? fmt::format("{}/threads:{}", plain, threads) : plain;
}

double Row::median() const {
  std::vector<double> s = seconds;
  std::sort(s.begin(), s.end());
  const std::size_t n = s.size();
  return n % 2 == 1 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
}

double Row::cv() const {
  const double n = static_cast<double>(seconds.size());
  if (n < 2) return 0;
  const double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / n;
  double square = 0;
  for (double s : seconds) square += (s - mean) * (s - mean);
  return std::sqrt(square / (n - 1)) / mean;
}

void judge(std::vector<Row>& rows, const Ceilings& ceilings) {
  for (Row& row : rows) {
    if (row.measured() && row.backend == Backend::kCpu)
      row.roof_seconds = ceilings.seconds(row.work, row.threads == 1);
    const auto first = std::find_if(rows.begin(), rows.end(),
                                    [&](const Row& r) { return same_operation(r, row); });
    if (first->measured()) row.v1_seconds = first->median();
    if (row.measured() && row.error.empty() && row.roof_percent() > kRoofLimit) {
      row.error = fmt::format(
          "{:.0f} % of the roof, the limit is {:.0f}: the work model or the set-up is wrong",
          row.roof_percent(), kRoofLimit);
    }
  }
}

void attach(std::vector<Row>& rows, const CountsByRow& counts) {
  for (Row& row : rows) {
    const auto found = counts.find(row.name());
    if (row.is_kernel() && found != counts.end()) row.counts = found->second;
  }
}

nlohmann::json to_json(const std::vector<Row>& rows) {
  nlohmann::json all = nlohmann::json::array();
  for (const Row& row : rows) all.push_back(entry(row));
  return all;
}

}  // namespace octavo::bench
