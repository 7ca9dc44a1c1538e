#include "common/device/device.h"

#include <unistd.h>

#include <cstring>
#include <fstream>

#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/device/cuda_backend.h"

namespace octavo {
namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

std::int64_t host_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? std::int64_t{pages} * page_bytes : 0;
}

}  // namespace

Device cpu_device() {
  return {.backend = Backend::kCpu,
          .name = cpu_name(),
          .multiprocessors = ThreadPool::default_size(),
          .memory_bytes = host_memory_bytes()};
}

Device simt_device() {
  return {.backend = Backend::kSimt,
          .name = "executor (limits of an A100)",
          .multiprocessors = 108,
          .memory_bytes = host_memory_bytes(),
          .shared_bytes = 163 * 1024,
          .l2_bytes = std::int64_t{40} << 20,
          .compute_capability = 80};
}

std::vector<Device> cuda_devices() { return cuda::list_devices(); }

std::vector<Device> devices() {
  std::vector<Device> all = {cpu_device(), simt_device()};
  for (Device& device : cuda_devices()) all.push_back(std::move(device));
  return all;
}

Device device_of(Backend backend) {
  if (backend == Backend::kCpu) return cpu_device();
  if (backend == Backend::kSimt) return simt_device();
  const std::vector<Device> gpus = cuda_devices();
  require(built_with_cuda(),
          "backend cuda: this build has no CUDA; configure with the preset 'cuda'");
  require(!gpus.empty(), "backend cuda: no CUDA device on this machine (or no driver for it)");
  return gpus.front();
}

bool built_with_cuda() { return cuda::available(); }

}  // namespace octavo
