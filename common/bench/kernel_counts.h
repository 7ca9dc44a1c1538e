#pragma once
// KernelCounts: what the executor counted in one call of a version, and the model of its time on a
// GPU.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/base/work.h"
#include "common/device/gpu_spec.h"

namespace octavo::bench {

struct KernelCounts {
  double bytes = 0;      // of global memory: 32 for each sector that a warp's request touches
  double mma_flops = 0;  // of tensor cores
  int launches = 0;
  bool operator==(const KernelCounts&) const = default;
};

// max(bytes / bandwidth, FLOPs / peak, launches * kLaunchSeconds). The tensor cores do mma_flops;
// what is left of the work's FLOPs is done outside them, at the rate of fp32. No cache is modelled,
// so what two warps read counts twice; see model_seconds of common/device/gpu_spec.h for the other
// end, where everything is read once.
double model_seconds(const GpuSpec& gpu, const Work& work, const KernelCounts& counts);
inline constexpr std::string_view kModelNote =
    "Model: the largest of 32 bytes x sectors / bandwidth, FLOPs / peak and 3 us a launch. The "
    "executor counts the sectors of each warp's request; no cache is modelled.";

using CountsByRow = std::map<std::string, KernelCounts>;  // by Row::name()
nlohmann::json to_json(const KernelCounts& counts);
nlohmann::json to_json(const CountsByRow& counts);
CountsByRow counts_from_json(const std::string& text);  // throws Error when it is none

}  // namespace octavo::bench
