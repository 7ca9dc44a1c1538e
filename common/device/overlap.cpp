#include "common/device/overlap.h"

#include "common/base/error.h"

namespace octavo {

void require_apart(std::string_view operation, std::initializer_list<OperandMemory> outputs,
                   std::initializer_list<OperandMemory> inputs) {
  const auto apart = [operation](const OperandMemory& a, const OperandMemory& b) {
    require(a.end <= b.begin || b.end <= a.begin || a.begin == a.end || b.begin == b.end,
            "{}: {} lies over {}; they must be apart", operation, a.name, b.name);
  };
  for (const OperandMemory* out = outputs.begin(); out != outputs.end(); ++out) {
    for (const OperandMemory& in : inputs) apart(*out, in);
    for (const OperandMemory* other = outputs.begin(); other != out; ++other) apart(*out, *other);
  }
}

}  // namespace octavo
