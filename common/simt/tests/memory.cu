// Declared in memory.h.

#include <new>

#include "common/simt/simt.h"

namespace octavo::simt::memory::SIMT_BACKEND {

#if SIMT_GPU
bool device_present() {
  int count = 0;
  const bool found = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  (void)cudaGetLastError();
  return found;
}
void* allocate(std::size_t bytes) {
  void* p = nullptr;
  if (cudaMallocManaged(&p, bytes) != cudaSuccess) throw std::bad_alloc();
  return p;
}
void release(void* p) { (void)cudaFree(p); }
void synchronize() {
  const cudaError_t status = cudaDeviceSynchronize();
  require(status == cudaSuccess, "a kernel failed: {}", cudaGetErrorString(status));
}
#else
bool device_present() { return true; }
void* allocate(std::size_t bytes) { return ::operator new (bytes, std::align_val_t{256}); }
void release(void* p) { ::operator delete (p, std::align_val_t{256}); }
void synchronize() {}
#endif

}  // namespace octavo::simt::memory::SIMT_BACKEND
