#include "common/device/gpu_spec.h"

#include <algorithm>
#include <array>

namespace octavo {

Device GpuSpec::device() const {
  return {.backend = Backend::kCuda,
          .name = std::string(name),
          .multiprocessors = multiprocessors,
          .memory_bytes = static_cast<std::int64_t>(memory_bytes),
          .shared_bytes = shared_bytes,
          .compute_capability = compute_capability};
}

std::span<const GpuSpec> gpu_specs() {
  static constexpr std::array kAll = {kA100, kH100, kH200};
  return kAll;
}

double model_seconds(const GpuSpec& gpu, const Work& work, DType compute, int launches) {
  return std::max({work.bytes / gpu.memory_bandwidth, work.flops / gpu.peak_flops(compute),
                   launches * kLaunchSeconds});
}

}  // namespace octavo
