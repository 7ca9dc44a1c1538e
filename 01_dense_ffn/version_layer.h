#pragma once
// What layers that run versions of the registry are made of: weights on a device, a version bound
// to weights, and the choice between a version for few rows and one for many.

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "01_dense_ffn/cast.h"
#include "01_dense_ffn/linear.h"
#include "common/device/registry.h"

namespace octavo::dense_ffn {

// A version for few rows and one for many are chosen once, at load: a choice that followed every
// batch could change a row's bits with its neighbours'.
inline constexpr std::int64_t kFewBatchRows = 16, kManyBatchRows = 1 << 16;

// A weight in the compute type on a device; borrows host memory that is already right.
class PlacedWeight {
 public:
  PlacedWeight() = default;
  PlacedWeight(const TensorView& host, const Device& device, DType compute) : view_(host) {
    if (host.rank() == 0) return;
    if (host.dtype() != compute) own(converted(host, compute));
    if (is_host(device.backend)) return;
    Stream stream(device);
    Tensor there(device, view_, stream);
    stream.synchronize();
    own(std::move(there));
  }
  // The same of a tensor in host memory, kept where it is right.
  PlacedWeight(Tensor host, const Device& device, DType compute)
      : PlacedWeight(host.view(), device, compute) {
    if (view_.data() == host.view().data()) own(std::move(host));
  }
  const TensorView& view() const { return view_; }

 private:
  void own(Tensor tensor) {
    tensor_ = std::move(tensor);
    view_ = tensor_.view();
  }
  Tensor tensor_;
  TensorView view_;
};

// A version bound to weights.
template <class Args>
struct Bound {
  const Version<Args>* version = nullptr;
  Prepared prepared;

  Bound(const Version<Args>& v, const WeightSet& weights, const Device& device) : version(&v) {
    if (v.prepare != nullptr) prepared = v.prepare(weights, device);
  }
  std::int64_t workspace(const Args& args, const Device& device) const {
    return version->workspace != nullptr ? version->workspace(args, device) : 0;
  }
};

// The best versions of a topic for one layer: the choice by rows, and the rounding of activations.
template <class Args>
class Versions {
 public:
  // `shape(T)` gives Args that carry extents only.
  template <class Shape>
  Versions(std::shared_ptr<const Registry> registry, std::string_view topic, const Device& device,
           DType compute, const WeightSet& weights, Shape shape)
      : registry_(std::move(registry)), device_(device), compute_(compute) {
    const Version<Args>& few = registry_->pick<Args>(topic, shape(kFewBatchRows), device, compute);
    const Version<Args>& many =
        registry_->pick<Args>(topic, shape(kManyBatchRows), device, compute);
    bound_.emplace_back(few, weights, device);
    if (&many != &few) bound_.emplace_back(many, weights, device);
    if (casts()) (void)cast_version({{nullptr, {1}}, {nullptr, compute, {1}}});  // refused here
  }

  // Whether every version has its own form of the weights and no longer reads those in Args.
  bool prepared() const {
    return std::ranges::all_of(bound_,
                               [](const Bound<Args>& b) { return b.version->prepare != nullptr; });
  }

  // Whether activations [T, width] are rounded before the version gets them.
  bool casts() const { return device_.backend != Backend::kCpu && compute_ != DType::kF32; }

  // For up to T rows of x, each `width` wide. Fewer rows may need more: a version that has few may
  // split its sums among more blocks.
  template <class Shape>
  std::int64_t workspace(std::int64_t T, std::int64_t width, Shape shape) const {
    std::int64_t most = bound(T).workspace(shape(T), device_);
    for (std::int64_t t = 1; t <= std::min(T, kFewBatchRows); ++t) {
      most = std::max(most, bound(t).workspace(shape(t), device_));
    }
    return most + (casts() ? Workspace::bytes_for<bf16>(T * width) : 0);
  }

  void run(Exec& exec, View<const float, 2> x, Args args) const {
    const Workspace::Scope scope(exec.workspace);
    args.x = casts() ? cast(exec, x) : TensorView(x);
    const Bound<Args>& b = bound(args.rows());
    b.version->run(exec, args, b.prepared);
  }

 private:
  const Bound<Args>& bound(std::int64_t rows) const {
    return rows <= kFewBatchRows ? bound_.front() : bound_.back();
  }

  const Version<CastArgs>& cast_version(const CastArgs& args) const {
    return registry_->pick<CastArgs>("cast", args, device_, compute_);
  }

  TensorView cast(Exec& exec, View<const float, 2> x) const {
    const CastArgs args = {{x.data(), {x.size()}},
                           {exec.workspace.take<std::byte>(x.size() * bytes_of(compute_)).data(),
                            compute_,
                            {x.size()}}};
    cast_version(args).run(exec, args, Prepared());
    return {args.y.data(), compute_, {x.extent(0), x.extent(1)}};
  }

  std::shared_ptr<const Registry> registry_;
  Device device_;
  DType compute_;
  std::vector<Bound<Args>> bound_;
};

}  // namespace octavo::dense_ffn
