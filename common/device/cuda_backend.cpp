#include "common/device/cuda_backend.h"

#include "common/device/cuda_check.h"

namespace octavo::cuda {
namespace {

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

// Makes a device current for one call and then the one before it again.
class Current {
 public:
  explicit Current(int device) {
    (void)cudaGetDevice(&before_);
    CUDA_CHECK(cudaSetDevice(device));
  }
  ~Current() { (void)cudaSetDevice(before_); }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  int before_ = 0;
};

}  // namespace

bool available() { return true; }

std::vector<Device> list_devices() {
  std::vector<Device> found;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    (void)cudaGetLastError();
    return found;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp p{};
    if (cudaGetDeviceProperties(&p, i) != cudaSuccess) {
      (void)cudaGetLastError();
      continue;
    }
    found.push_back({.backend = Backend::kCuda,
                     .index = i,
                     .name = p.name,
                     .multiprocessors = p.multiProcessorCount,
                     .memory_bytes = static_cast<std::int64_t>(p.totalGlobalMem),
                     .shared_bytes = static_cast<std::int64_t>(p.sharedMemPerBlockOptin),
                     .l2_bytes = p.l2CacheSize,
                     .compute_capability = 10 * p.major + p.minor});
  }
  return found;
}

void* allocate(int device, std::size_t bytes) {
  Current current(device);
  void* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, bytes));
  return memory;
}

void release(int, void* memory) noexcept { (void)cudaFree(memory); }

void fill(void* memory, int byte, std::size_t bytes, void* stream) {
  CUDA_CHECK(cudaMemsetAsync(memory, byte, bytes, stream_of(stream)));
}

void copy(void* to, const void* from, std::size_t bytes, void* stream) {
  CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(stream)));
}

void* make_stream(int device) {
  Current current(device);
  cudaStream_t stream = nullptr;
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

void destroy_stream(int, void* stream) noexcept { (void)cudaStreamDestroy(stream_of(stream)); }
void synchronize(void* stream) { CUDA_CHECK(cudaStreamSynchronize(stream_of(stream))); }

void* make_event(int device) {
  Current current(device);
  cudaEvent_t event = nullptr;
  CUDA_CHECK(cudaEventCreate(&event));
  return event;
}

void destroy_event(int, void* event) noexcept { (void)cudaEventDestroy(event_of(event)); }
void record(void* event, void* stream) {
  CUDA_CHECK(cudaEventRecord(event_of(event), stream_of(stream)));
}
void wait(void* stream, void* event) {
  CUDA_CHECK(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0));
}
void synchronize_event(void* event) { CUDA_CHECK(cudaEventSynchronize(event_of(event))); }

double seconds_between(void* begin, void* end) {
  float milliseconds = 0;
  CUDA_CHECK(cudaEventElapsedTime(&milliseconds, event_of(begin), event_of(end)));
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace octavo::cuda
