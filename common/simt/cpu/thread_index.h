#pragma once
// threadIdx, blockIdx, blockDim, gridDim: values, so that a kernel's sanitizer sees no memory of
// ours.

#include "common/simt/cpu/keywords.h"
#include "common/simt/cpu/number_types.h"
#include "common/simt/cpu/runtime.h"

namespace octavo::simt {
inline namespace SIMT_FLAVOUR {

SIMT_UNSEEN inline uint3 thread_index() {
  const Index3& i = cpu::current_thread->thread;
  return {i.x, i.y, i.z};
}
SIMT_UNSEEN inline uint3 block_index() {
  const Index3& i = cpu::current_thread->block;
  return {i.x, i.y, i.z};
}
SIMT_UNSEEN inline dim3 block_extent() {
  const Index3& i = cpu::current_launch->block;
  return {i.x, i.y, i.z};
}
SIMT_UNSEEN inline dim3 grid_extent() {
  const Index3& i = cpu::current_launch->grid;
  return {i.x, i.y, i.z};
}
SIMT_UNSEEN inline unsigned lane_index() { return cpu::current_thread->lane; }

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::simt

#define threadIdx (::octavo::simt::thread_index())
#define blockIdx (::octavo::simt::block_index())
#define blockDim (::octavo::simt::block_extent())
#define gridDim (::octavo::simt::grid_extent())
inline constexpr int warpSize = 32;
