#pragma once
// What the align kernels take, and the scan they and the expert kernels share. Included by kernel
// files.

#include "02_sparse_moe/align.h"
#include "common/simt/simt.h"

namespace octavo::sparse_moe::device {
inline namespace SIMT_FLAVOUR {

struct AlignParams {
  const int* ids;  // [slots]
  int* offsets;    // [E + 1]
  int* order;      // [slots]
  int slots, E;

  __device__ bool is_expert(int id) const { return id >= 0 && id < E; }
};

// Throws Error when the extents do not fit, or when there are more experts than the kernel takes.
inline AlignParams params_of(const AlignArgs& a, std::int64_t most_experts) {
  check_shapes(a);
  require(a.experts() <= most_experts, "align: {} experts, this kernel takes {} at most",
          a.experts(), most_experts);
  return {a.ids.data(), a.offsets.data(), a.order.data(), static_cast<int>(a.slots()),
          static_cast<int>(a.experts())};
}

// The sum of the values of lanes 0 to this one.
__device__ __forceinline__ int inclusive_sum(int value) {
  SIMT_UNROLL
  for (int distance = 1; distance < 32; distance *= 2) {
    const int below = __shfl_up_sync(simt::kFullMask, value, distance);
    if (static_cast<int>(simt::lane_index()) >= distance) value += below;
  }
  return value;
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::sparse_moe::device
