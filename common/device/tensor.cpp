#include "common/device/tensor.h"

#include <fmt/ranges.h>

namespace octavo {

TensorView::TensorView(void* data, DType dtype, const std::int64_t* extents, int rank)
    : data_(data), dtype_(dtype), rank_(rank) {
  require(rank >= 1 && rank <= 4, "a tensor of rank {}: the limits are 1 and 4", rank);
  for (int a = 0; a < rank; ++a) {
    require(extents[a] >= 0, "a tensor with extent {} on axis {}", extents[a], a);
    extents_[static_cast<std::size_t>(a)] = extents[a];
  }
}

std::int64_t TensorView::size() const {
  if (rank_ == 0) return 0;
  std::int64_t n = 1;
  for (int a = 0; a < rank_; ++a) n *= extent(a);
  return n;
}

std::string TensorView::describe() const {
  return fmt::format("{} [{}]", name_of(dtype_),
                     fmt::join(extents_.data(), extents_.data() + rank_, ", "));
}

Tensor::Tensor(const Device& device, DType dtype, std::span<const std::int64_t> extents) {
  const int rank = static_cast<int>(extents.size());
  memory_ =
      DeviceBuffer<std::byte>(device, TensorView(nullptr, dtype, extents.data(), rank).bytes());
  view_ = TensorView(memory_.data(), dtype, extents.data(), rank);
}

Tensor::Tensor(const Device& device, const TensorView& host, Stream& stream)
    : Tensor(device, host.dtype(), host.extents()) {
  copy_bytes(memory_.data(), host.data(), static_cast<std::size_t>(host.bytes()), stream);
}

namespace {

template <class From, class To>
void convert(const TensorView& from, const TensorView& to) {
  const auto* const a = static_cast<const From*>(from.data());
  auto* const b = static_cast<To*>(to.data());
  for (std::int64_t i = 0; i < from.size(); ++i) b[i] = static_cast<To>(static_cast<float>(a[i]));
}

template <class From>
void convert_from(const TensorView& from, const TensorView& to) {
  switch (to.dtype()) {
    case DType::kF32:
      return convert<From, float>(from, to);
    case DType::kF16:
      return convert<From, half>(from, to);
    case DType::kBF16:
      return convert<From, bf16>(from, to);
  }
}

}  // namespace

Tensor converted(const TensorView& host, DType type) {
  Tensor copy(cpu_device(), type, host.extents());
  switch (host.dtype()) {
    case DType::kF32:
      convert_from<float>(host, copy.view());
      break;
    case DType::kF16:
      convert_from<half>(host, copy.view());
      break;
    case DType::kBF16:
      convert_from<bf16>(host, copy.view());
      break;
  }
  return copy;
}

}  // namespace octavo
