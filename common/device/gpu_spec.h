#pragma once
// Published figures of the GPUs the project models, and the roofline time of an operation on one. A
// time computed here is a model and is labelled so wherever it is printed.

#include <span>
#include <string_view>

#include "common/base/numbers.h"
#include "common/base/work.h"
#include "common/device/device.h"

namespace octavo {

// SXM boards; dense rates, without structured sparsity. Sources: NVIDIA's A100 datasheet (80 GB,
// June 2021) and Ampere whitepaper; the H100 datasheet and Hopper whitepaper (SXM5); the H200
// datasheet.
struct GpuSpec {
  std::string_view name;
  double memory_bandwidth;  // bytes/s
  double fp32_flops;        // FLOP/s outside the tensor cores
  double fp16_flops;        // FLOP/s of the tensor cores, fp16 and bf16 with fp32 sums
  double memory_bytes;
  int multiprocessors;
  std::int64_t shared_bytes;  // a block
  int compute_capability;

  double peak_flops(DType compute) const {
    return compute == DType::kF32 ? fp32_flops : fp16_flops;
  }
  Device device() const;  // as a cuda device of these limits, for launch choices made without one
};

inline constexpr GpuSpec kA100 = {"A100", 2039e9, 19.5e12, 312e12, 80e9, 108, 163 * 1024, 80};
inline constexpr GpuSpec kH100 = {"H100", 3350e9, 66.9e12, 989.4e12, 80e9, 132, 227 * 1024, 90};
inline constexpr GpuSpec kH200 = {"H200", 4800e9, 66.9e12, 989.4e12, 141e9, 132, 227 * 1024, 90};

std::span<const GpuSpec> gpu_specs();  // A100, H100, H200

// The cost of starting one kernel in a stream of small ones, assumed in every model of this
// project.
inline constexpr double kLaunchSeconds = 3e-6;

// max(bytes / bandwidth, FLOPs / peak, launches * kLaunchSeconds): no version can be faster on this
// GPU unless it needs fewer launches; few reach it.
double model_seconds(const GpuSpec& gpu, const Work& work, DType compute, int launches);

}  // namespace octavo
