#pragma once
// The devices a program can use. Listing them never throws: no toolkit, no driver and no GPU all
// mean no CUDA device.

#include <cstdint>
#include <string>
#include <vector>

#include "common/device/backend.h"

namespace octavo {

struct Device {
  Backend backend = Backend::kCpu;
  int index = 0;  // ordinal among the CUDA devices; 0 elsewhere
  std::string name = {};
  int multiprocessors = 1;        // SMs of a GPU; threads of a CPU that this process may use
  std::int64_t memory_bytes = 0;  // device memory; host memory for cpu and simt
  std::int64_t shared_bytes = 0;  // shared memory one block may ask for; 0 for cpu
  std::int64_t l2_bytes = 0;      // 0 where unknown
  int compute_capability = 0;     // 10 * major + minor, 80 for sm_80; 0 for cpu
};

// The host.
Device cpu_device();

// The executor. It presents the limits of an A100 (sm_80, 108 SMs), so that launch choices made on
// it are those of a GPU and do not depend on the machine the tests run on.
Device simt_device();

// The GPUs; empty in a build without CUDA, without a driver or without a device.
std::vector<Device> cuda_devices();

// All of them: cpu, simt, then the GPUs.
std::vector<Device> devices();

// The first device of this backend. Throws Error when there is none, saying whether the build or
// the machine lacks it.
Device device_of(Backend backend);

// Whether this build was made with OCTAVO_CUDA.
bool built_with_cuda();

}  // namespace octavo
