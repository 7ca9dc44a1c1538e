#include "01_dense_ffn/mma_config.h"

namespace octavo::dense_ffn {

std::int64_t MmaConfig::shared_bytes() const {
  return std::int64_t{kMmaStages} * (m + n) * kMmaStep * 2;
}

MmaConfig choose_config(std::int64_t T, std::int64_t columns, const Device& device) {
  // Half of a large tile, or more, would be padding.
  if (T <= kMmaSmall.m) return kMmaSmall;
  // The device has not the shared memory.
  if (kMmaLarge.shared_bytes() > device.shared_bytes) return kMmaSmall;
  // Some multiprocessors would get no large tile: using them all is worth more than the traffic
  // that large tiles save.
  if (mma_launch(kMmaLarge, T, columns).blocks() < device.multiprocessors) return kMmaSmall;
  // A large tile reads each element half as often.
  return kMmaLarge;
}

LaunchConfig mma_launch(const MmaConfig& config, std::int64_t T, std::int64_t columns) {
  return {.kernel = config == kMmaLarge ? "mma 128 x 128" : "mma 64 x 64",
          .grid = {ceil_div(T, config.m), ceil_div(columns, config.n)},
          .block = {config.threads},
          .shared_bytes = config.shared_bytes()};
}

}  // namespace octavo::dense_ffn
