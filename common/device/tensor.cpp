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

Tensor::Tensor(const Device& device, DType dtype, std::initializer_list<std::int64_t> extents) {
  const TensorView shape(nullptr, dtype, extents);
  memory_ = DeviceBuffer<std::byte>(device, shape.bytes());
  view_ = TensorView(memory_.data(), dtype, extents);
}

Tensor::Tensor(const Device& device, const TensorView& host, Stream& stream)
    : memory_(device, host.bytes()) {
  std::array<std::int64_t, 4> extents{};
  for (int a = 0; a < host.rank(); ++a) extents[static_cast<std::size_t>(a)] = host.extent(a);
  view_ = TensorView(memory_.data(), host.dtype(), extents.data(), host.rank());
  copy_bytes(memory_.data(), host.data(), static_cast<std::size_t>(host.bytes()), stream);
}

}  // namespace octavo
