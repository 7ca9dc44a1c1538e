#include "common/bench/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "common/base/counted.h"
#include "common/device/gpu_spec.h"

namespace octavo::bench {
namespace {

constexpr std::string_view kNotMeasured = "not measured", kNotModelled = "not modelled";

// The rows that share a line: a kernel's modelled row and its measured one.
struct Line {
  const Row* host = nullptr;   // cpu
  const Row* model = nullptr;  // simt or cuda
  const Row* gpu = nullptr;    // cuda
};

bool same_line(const Row& a, const Row& b) {
  return a.topic == b.topic && a.compute == b.compute && a.shape == b.shape &&
         a.version == b.version && a.is_kernel() == b.is_kernel() && a.threads == b.threads;
}

std::string measured_cells(const Row* row) {
  if (row == nullptr || !row->measured()) {
    return fmt::format("{:>12} {:>8} {:>8} {:>6} {:>7}", kNotMeasured, "", "", "", "");
  }
  const double s = row->median();
  return fmt::format("{:>12} {:>8.2f} {:>8.3f} {:>6} {:>7.2f}", format_time(s),
                     row->work.bytes / s / 1e9, row->work.flops / s / 1e12,
                     row->roof_seconds > 0 ? fmt::format("{:.0f}", row->roof_percent()) : "",
                     row->times_v1());
}

std::string line_of(const Line& line) {
  const Row& any = line.host != nullptr ? *line.host : *line.model;
  const Row* const timed = line.host != nullptr ? line.host : line.gpu;
  std::string label = any.version;
  if (any.threads > 0) label += fmt::format(", {}", counted(any.threads, "thread"));
  std::string text = fmt::format("  {:<28} {}", label, measured_cells(timed));
  for (const GpuSpec& gpu : gpu_specs()) {
    std::string cell;
    if (line.model != nullptr) {
      cell = line.model->counts ? format_time(model_seconds(gpu, any.work, *line.model->counts))
                                : std::string(kNotModelled);
    }
    text += fmt::format(" {:>12}", cell);
  }
  const bool has_error = timed != nullptr && timed->max_error >= 0;
  text += fmt::format(
      " {:>12}", has_error ? fmt::format("{:.2g}", timed->max_error) : std::string(kNotMeasured));
  if (timed != nullptr && !timed->error.empty()) text += "  FAILED: " + timed->error;
  return text + "\n";
}

std::string heading(const Row& row) {
  std::string text = fmt::format("{} {} {}   {:.3g} GFLOP, {:.3g} MB, {:.3g} FLOP/B; at best",
                                 row.topic, name_of(row.compute), row.shape, row.work.flops / 1e9,
                                 row.work.bytes / 1e6, row.work.intensity());
  for (const GpuSpec& gpu : gpu_specs()) {
    text +=
        fmt::format(" {} {}", gpu.name, format_time(model_seconds(gpu, row.work, row.compute, 1)));
  }
  text += fmt::format("\n  {:<28} {:>12} {:>8} {:>8} {:>6} {:>7}", "version", "measured", "GB/s",
                      "TFLOP/s", "roof%", "x_v1");
  for (const GpuSpec& gpu : gpu_specs())
    text += fmt::format(" {:>12}", fmt::format("{} model", gpu.name));
  return text + fmt::format(" {:>12}\n", "from v1");
}

}  // namespace

std::string format_time(double seconds) {
  struct Unit {
    double seconds;
    std::string_view name;
  };
  constexpr std::array<Unit, 5> kUnits{
      {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}, {60, "min"}}};
  for (const Unit& unit : kUnits) {
    // What would round to four digits, "1e+03 ms", is for the next unit.
    if (seconds / unit.seconds < 999.5)
      return fmt::format("{:.3g} {}", seconds / unit.seconds, unit.name);
  }
  return fmt::format("{:.3g} h", seconds / 3600);
}

std::string table(const std::vector<Row>& rows) {
  std::string text;
  std::vector<bool> done(rows.size(), false);
  const Row* block = nullptr;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (done[i]) continue;
    if (block == nullptr || block->topic != rows[i].topic || block->compute != rows[i].compute ||
        block->shape != rows[i].shape) {
      if (block != nullptr) text += '\n';
      text += heading(rows[i]);
      block = &rows[i];
    }
    Line line;
    for (std::size_t j = i; j < rows.size(); ++j) {
      if (!same_line(rows[i], rows[j])) continue;
      done[j] = true;
      if (rows[j].backend == Backend::kCpu) line.host = &rows[j];
      if (rows[j].backend == Backend::kCuda) line.gpu = &rows[j];
      if (rows[j].is_kernel()) line.model = &rows[j];
    }
    text += line_of(line);
  }
  const bool modelled =
      std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.counts.has_value(); });
  if (modelled) text += fmt::format("\n{}\n", kModelNote);
  return text;
}

}  // namespace octavo::bench
