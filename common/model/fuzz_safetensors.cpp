// Any bytes as a .safetensors file, opened through a file in memory. Every element of every tensor
// that is accepted is read.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "common/base/error.h"
#include "common/model/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octavo::model;
  static const int file = memfd_create("fuzz", MFD_CLOEXEC);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) {
    __builtin_trap();
  }
  try {
    const auto opened = Safetensors::open("/proc/self/fd/" + std::to_string(file));
    std::size_t bytes = 0;
    for (const auto& [name, tensor] : opened.tensors()) {
      bytes += to_float(tensor).size() * static_cast<std::size_t>(octavo::bytes_of(tensor.dtype));
    }
    if (bytes > size) __builtin_trap();
  } catch (const octavo::Error&) {
  }
  return 0;
}
