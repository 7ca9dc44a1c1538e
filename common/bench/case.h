#pragma once
// Case: one row to be, with the version and its operands bound and their types erased.

#include <cstdint>
#include <functional>
#include <memory>

#include "common/bench/row.h"
#include "common/device/exec.h"
#include "common/testing/topic.h"

namespace octavo::bench {

// Operands of one call and the version bound to them.
struct Call {
  std::unique_ptr<testing::Operands> operands;
  std::function<void(Exec&)> run;
  std::int64_t workspace_bytes = 0;
};
using Binder = std::function<Call(const testing::OperandSettings&)>;

// A version on a shape in a number type.
struct Case {
  Row row;
  testing::Tolerance tolerance;
  bool first = false;
  std::function<bool(const Device&)> supported;
  Binder bind;        // this version
  Binder bind_first;  // the topic's first on this backend
};

// A call with operands on `device`: large ones, so neither guarded nor kept on the host.
Call make_call(const Case& c, const Binder& binder, const Device& device, std::uint64_t seed);

void run_once(Call& call, const Device& device, DType compute, ThreadPool& pool);

}  // namespace octavo::bench
