// Lists the devices that this build can use, one a line: devices.

#include <fmt/format.h>

#include "common/base/counted.h"
#include "common/device/device.h"

int main() {
  for (const octavo::Device& d : octavo::devices()) {
    fmt::print("{:<5} {}  {}, {}, {:.1f} GiB\n", octavo::name_of(d.backend), d.index, d.name,
               octavo::counted(d.multiprocessors, "multiprocessor"),
               static_cast<double>(d.memory_bytes) / (1 << 30));
  }
}
