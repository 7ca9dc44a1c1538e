// ./run demo 01: what a feed-forward layer costs, where it stops being bound by memory, and what
// each kernel of the ladder makes of it; and what company does to a row's bits. With --data FILE
// the rooflines are also written as JSON, which common/tools/roofline_figure.py draws; --samples N
// measures the ceilings of this CPU N times (3).

#include "01_dense_ffn/demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "01_dense_ffn/ffn.h"
#include "common/base/error.h"
#include "common/base/output_file.h"
#include "common/bench/ceilings.h"
#include "common/bench/context.h"
#include "common/bench/table.h"
#include "common/device/gpu_spec.h"

namespace octavo::dense_ffn {
namespace {

constexpr std::int64_t kTokens[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096};

void show_model(std::string_view name, const std::string& config_name) {
  const model::ModelConfig config = model::load_config(
      std::filesystem::path(OCTAVO_SOURCE_DIR) / "common/model/configs" / (config_name + ".json"));
  const std::int64_t context = std::min<std::int64_t>(4096, config.max_context);
  const std::vector<PartCost> parts = forward_cost(config, {.context = context});
  const PartCost all = total(parts);
  fmt::print("\n{}: one token at context {}, weights in {}\n", name, context,
             octavo::name_of(config.dtype));
  fmt::print("{:<18}{:>12}{:>9}{:>12}{:>10}{:>10}{:>9}\n", "part", "parameters", "of all",
             "a token's", "GFLOP", "GB moved", "FLOP/B");
  const auto row = [&](std::string_view part, const PartCost& p) {
    const auto billions = [](std::int64_t n) {
      return fmt::format("{:.3f} B", static_cast<double>(n) / 1e9);
    };
    const double share =
        100 * static_cast<double>(p.parameters) / static_cast<double>(all.parameters);
    fmt::print("{:<18}{:>12}{:>7.1f} %{:>12}{:>10.3f}{:>10.4f}{:>9.2f}\n", part,
               billions(p.parameters), share, billions(p.active), p.work.flops / 1e9,
               p.work.bytes / 1e9, p.work.intensity());
  };
  for (const PartCost& p : parts) row(octavo::name_of(p.part), p);
  row("all", all);
  for (std::int64_t T : {16, 256}) {
    const Work batch =
        total(forward_cost(config, {.tokens = T, .sequences = T, .context = context})).work;
    fmt::print("  {} such tokens at once: {:.1f} GB moved, {:.3f} GB a token, {:.1f} FLOP/B\n", T,
               batch.bytes / 1e9, batch.bytes / 1e9 / static_cast<double>(T), batch.intensity());
  }
}

// "1.2 ms" and, behind it, the share of the machine's peak.
std::string cell(const Roofline& machine, const Work& work) {
  const double percent = 100 * machine.share_of_peak(work);
  return fmt::format("{:>9}{:>5.{}f} %", bench::format_time(machine.seconds(work)), percent,
                     percent < 10 ? 1 : 0);
}

std::vector<Roofline> machines(const bench::Ceilings& cpu) {
  std::vector<Roofline> all;
  for (const GpuSpec& gpu : gpu_specs())
    all.push_back({std::string(gpu.name), gpu.memory_bandwidth, gpu.peak_flops(DType::kBF16)});
  all.push_back({"this CPU", cpu.read_bandwidth, cpu.fma_all});
  return all;
}

void write_data(const std::string& path, const RooflineLayer& layer,
                std::span<const Roofline> machines, const bench::Ceilings& ceilings) {
  nlohmann::json data = {{"D", layer.D},
                         {"F", layer.F},
                         {"matrices", layer.matrices},
                         {"weight_bytes", layer.weight_bytes},
                         {"context", bench::context(ceilings)},
                         {"machines", nlohmann::json::array()}};
  for (const Roofline& m : machines) {
    nlohmann::json points = nlohmann::json::array();
    for (std::int64_t T : kTokens) {
      const Work work = layer.work(T);
      points.push_back({{"T", T},
                        {"intensity", work.intensity()},
                        {"seconds", m.seconds(work)},
                        {"share_of_peak", m.share_of_peak(work)}});
    }
    data["machines"].push_back(
        {{"name", m.name},
         {"bandwidth", m.bandwidth},
         {"flops", m.flops},
         {"tokens_at_ridge",
          tokens_at_ridge(m, layer.D, layer.F, layer.matrices, layer.weight_bytes)},
         {"points", points}});
  }
  write_file(path, data.dump(1) + '\n');
}

void run(const std::string& data_path, int samples) {
  show_costs();
  const RooflineLayer layer;
  ThreadPool pool(ThreadPool::default_size());
  bench::CeilingProbe probe(pool);
  for (int i = 0; i < samples; ++i) probe.sample();
  const std::vector<Roofline> all = machines(probe.best());
  show_rooflines(layer, all);
  if (!data_path.empty()) write_data(data_path, layer, all, probe.best());
  show_ladder();
  show_bits();
}

}  // namespace

Work RooflineLayer::work(std::int64_t T) const { return ffn_work(T, D, F, matrices, weight_bytes); }

void show_costs() {
  fmt::print("1. What a token costs, part by part\n");
  show_model("Llama-3-70B", "llama-3-70b");
  show_model("Mixtral-8x7B", "mixtral-8x7b");
  show_model("DeepSeek-V3", "deepseek-v3");
}

void show_rooflines(const RooflineLayer& layer, std::span<const Roofline> machines) {
  fmt::print(
      "\n2. The roofline of one feed-forward layer, D {} and F {}, weights of {} bytes\n"
      "   GPUs from their data sheets; this CPU from ceilings measured just now\n\n",
      layer.D, layer.F, layer.weight_bytes);
  fmt::print("{:>6}{:>9}", "T", "FLOP/B");
  for (const Roofline& m : machines) fmt::print("{:>16}", m.name);
  fmt::print("\n");
  for (std::int64_t T : kTokens) {
    const Work work = layer.work(T);
    fmt::print("{:>6}{:>9.1f}", T, work.intensity());
    for (const Roofline& m : machines) fmt::print("{}", cell(m, work));
    fmt::print("\n");
  }
  fmt::print("\n{:<10}{:>10}{:>12}{:>16}{:>20}\n", "", "GB/s", "TFLOP/s", "ridge, FLOP/B",
             "tokens at the ridge");
  for (const Roofline& m : machines) {
    fmt::print("{:<10}{:>10.0f}{:>12.3g}{:>16.1f}{:>20}\n", m.name, m.bandwidth / 1e9,
               m.flops / 1e12, m.ridge(),
               tokens_at_ridge(m, layer.D, layer.F, layer.matrices, layer.weight_bytes));
  }
  fmt::print("Below its ridge a machine waits for weights, and a further token is almost free.\n");
}

}  // namespace octavo::dense_ffn

int main(int argc, char** argv) {
  using octavo::require;
  try {
    std::string data;
    int samples = 3;
    for (int i = 1; i < argc; i += 2) {
      const std::string_view option = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
      const bool known = (option == "--data" || option == "--samples") && !value.empty();
      require(known, "usage: demo [--data FILE] [--samples N]");
      if (option == "--data") {
        data = value;
        continue;
      }
      const char* const end = value.data() + value.size();
      require(std::from_chars(value.data(), end, samples).ptr == end && samples >= 1,
              "--samples is '{}', must be a whole number of at least 1", value);
    }
    octavo::dense_ffn::run(data, samples);
  } catch (const octavo::Error& error) {
    std::fprintf(stderr, "demo: %s\n", error.what());
    return 2;
  }
  return 0;
}
