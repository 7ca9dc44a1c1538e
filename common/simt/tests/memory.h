#pragma once
// Memory that host and kernels of a backend both reach, so that one test serves both.

#include <cstddef>
#include <vector>

namespace octavo::simt::memory {
namespace on_simt {  // memory.cu, as on_cuda
bool device_present();
void* allocate(std::size_t bytes);  // aligned to 256
void release(void* p);
void synchronize();
}  // namespace on_simt
namespace on_cuda {
bool device_present();
void* allocate(std::size_t bytes);
void release(void* p);
void synchronize();
}  // namespace on_cuda

namespace backend = OCTAVO_SIMT_TEST_BACKEND;  // on_simt or on_cuda

// n elements of T, owned.
template <class T>
class Shared {
 public:
  explicit Shared(std::size_t n)
      : data_(static_cast<T*>(backend::allocate(n * sizeof(T) + 1))), size_(n) {}
  explicit Shared(const std::vector<T>& values) : Shared(values.size()) {
    for (std::size_t i = 0; i < size_; ++i) data_[i] = values[i];
  }
  ~Shared() { backend::release(data_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  T* data() { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  void fill(T value) {
    for (std::size_t i = 0; i < size_; ++i) data_[i] = value;
  }

 private:
  T* data_;
  std::size_t size_;
};

}  // namespace octavo::simt::memory
