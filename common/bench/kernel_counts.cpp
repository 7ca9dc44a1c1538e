#include "common/bench/kernel_counts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/error.h"

namespace octavo::bench {

double model_seconds(const GpuSpec& gpu, const Work& work, const KernelCounts& counts) {
  const double other_flops = std::max(0.0, work.flops - counts.mma_flops);
  return std::max({counts.bytes / gpu.memory_bandwidth, counts.mma_flops / gpu.fp16_flops,
                   other_flops / gpu.fp32_flops, counts.launches * kLaunchSeconds});
}

nlohmann::json to_json(const KernelCounts& c) {
  return {{"bytes", c.bytes}, {"mma_flops", c.mma_flops}, {"launches", c.launches}};
}

nlohmann::json to_json(const CountsByRow& counts) {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [name, c] : counts) all[name] = to_json(c);
  return all;
}

CountsByRow counts_from_json(const std::string& text) {
  CountsByRow counts;
  try {
    const nlohmann::json all = nlohmann::json::parse(text);
    for (const auto& [name, c] : all.items()) {
      counts[name] = {.bytes = c.at("bytes").get<double>(),
                      .mma_flops = c.at("mma_flops").get<double>(),
                      .launches = c.at("launches").get<int>()};
    }
  } catch (const nlohmann::json::exception& e) {
    fail("counts of kernels: {}", e.what());
  }
  return counts;
}

}  // namespace octavo::bench
