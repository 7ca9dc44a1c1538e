#pragma once
// Tensors whose number type is known at run time: weights. TensorView borrows, Tensor owns. Code
// that computes works on View<T, R>, which `as` gives.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "common/base/numbers.h"
#include "common/base/view.h"
#include "common/device/buffer.h"

namespace octavo {

// The DType of a C++ type.
template <class T>
constexpr DType dtype_of() {
  using U = std::remove_const_t<T>;
  static_assert(std::is_same_v<U, float> || std::is_same_v<U, half> || std::is_same_v<U, bf16>,
                "no DType stands for this type");
  if constexpr (std::is_same_v<U, float>) return DType::kF32;
  if constexpr (std::is_same_v<U, half>) return DType::kF16;
  return DType::kBF16;
}

// Row-major and contiguous, of rank 1 to 4.
class TensorView {
 public:
  TensorView() = default;
  // Throws Error for a rank beyond 4 or a negative extent.
  TensorView(void* data, DType dtype, const std::int64_t* extents, int rank);
  TensorView(void* data, DType dtype, std::initializer_list<std::int64_t> extents)
      : TensorView(data, dtype, extents.begin(), static_cast<int>(extents.size())) {}
  template <class T, int R>
  explicit TensorView(View<T, R> v)
      : TensorView(const_cast<std::remove_const_t<T>*>(v.data()), dtype_of<T>(), v.extents().data(),
                   R) {}

  void* data() const { return data_; }
  DType dtype() const { return dtype_; }
  int rank() const { return rank_; }
  std::int64_t extent(int axis) const { return extents_[static_cast<std::size_t>(axis)]; }
  std::span<const std::int64_t> extents() const {
    return {extents_.data(), static_cast<std::size_t>(rank_)};
  }
  std::int64_t size() const;
  std::int64_t bytes() const { return size() * bytes_of(dtype_); }
  std::string describe() const;  // "BF16 [4096, 14336]"

  // The same memory, typed. Throws Error when the type or the rank is another.
  template <class T, int R>
  View<T, R> as() const {
    require(dtype_ == dtype_of<T>() && rank_ == R, "a tensor {} where {} of rank {} is wanted",
            describe(), name_of(dtype_of<T>()), R);
    typename View<T, R>::Extents e{};
    for (int a = 0; a < R; ++a) e[static_cast<std::size_t>(a)] = extent(a);
    return {static_cast<T*>(data_), e};
  }

 private:
  void* data_ = nullptr;
  DType dtype_ = DType::kF32;
  int rank_ = 0;
  std::array<std::int64_t, 4> extents_{};
};

// Owns a tensor's memory on one device.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Device& device, DType dtype, std::span<const std::int64_t> extents);
  Tensor(const Device& device, DType dtype, std::initializer_list<std::int64_t> extents)
      : Tensor(device, dtype, std::span(extents.begin(), extents.size())) {}
  // A copy of host memory on `device`. `host` must outlive the copy (see copy_bytes).
  Tensor(const Device& device, const TensorView& host, Stream& stream);

  const TensorView& view() const { return view_; }
  Backend backend() const { return memory_.backend(); }

 private:
  DeviceBuffer<std::byte> memory_;
  TensorView view_;
};

// A copy of host memory in another type, rounded to nearest; on the host.
Tensor converted(const TensorView& host, DType type);

}  // namespace octavo
