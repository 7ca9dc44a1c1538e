#include "common/bench/case.h"

namespace octavo::bench {

Call make_call(const Case& c, const Binder& binder, const Device& device, std::uint64_t seed) {
  testing::OperandSettings settings;
  settings.device = device;
  settings.compute = c.row.compute;
  settings.seed = seed;
  settings.guarded = false;
  settings.repeat = 1 << 16;  // random values that repeat so rarely are no pattern
  Call call = binder(settings);
  call.operands->forget_values();
  return call;
}

void run_once(Call& call, const Device& device, DType compute, ThreadPool& pool) {
  Exec exec(device, compute, pool, call.workspace_bytes);
  call.run(exec);
  exec.stream.synchronize();
}

}  // namespace octavo::bench
