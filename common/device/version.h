#pragma once
// Version: one way to run an operation. Kernel files include this header, the registry's not.

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/device/exec.h"
#include "common/device/launch_config.h"
#include "common/device/prepared.h"

namespace octavo {

// One way to run a topic's operation. Args holds views of inputs and outputs on the device; the
// topic's header says their shapes. A null function is a need the version does not have.
template <class Args>
struct Version {
  std::string_view name = {};  // "gpu_v2_tiled": a literal
  Backend backend = Backend::kCpu;
  DTypeSet dtypes = {};  // compute types it takes
  // a row's bits do not depend on the other rows; false: the engine never picks it
  bool batch_invariant = false;

  // Null: every shape. Looks at extents only; the data may be null.
  bool (*supports)(const Args& shape, const Device&) = nullptr;
  // Packing, shuffling, upload: once, at load, from weights in host memory. Null: reads the weights
  // in Args.
  Prepared (*prepare)(const WeightSet&, const Device&) = nullptr;
  // Bytes of scratch that one run takes (sums of Workspace::bytes_for). Null: none.
  std::int64_t (*workspace)(const Args& shape, const Device&) = nullptr;
  // The geometry of the launches that run makes, in order; a pure function. Null on the cpu.
  std::vector<LaunchConfig> (*launches)(const Args& shape, const Device&) = nullptr;
  // Checks shapes (Error), launches on exec.stream, takes scratch from exec.workspace. It never
  // allocates, copies or synchronises.
  void (*run)(Exec&, const Args&, const Prepared&) = nullptr;

  bool takes(const Args& shape, const Device& device, DType compute) const {
    return backend == device.backend && dtypes.contains(compute) &&
           (supports == nullptr || supports(shape, device));
  }
};

}  // namespace octavo
