#include "01_dense_ffn/linear.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "01_dense_ffn/cast.h"
#include "common/base/error.h"

namespace octavo {
namespace {

// A version for few rows and one for many are chosen once, at load: a choice that followed every
// batch could change a row's bits with its neighbours'.
constexpr std::int64_t kFewRows = 16, kManyRows = 1 << 16;

void require_matrix(const TensorView& weight) {
  require(weight.rank() == 2 && weight.size() > 0, "a weight is {}, must be [N, K] and not empty",
          weight.describe());
}

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

// What VersionLinear and VersionFfn share: the choice by rows, and the rounding of activations.
template <class Args>
class Versions {
 public:
  // `shape(T)` gives Args that carry extents only.
  template <class Shape>
  Versions(std::shared_ptr<const Registry> registry, std::string_view topic, const Device& device,
           DType compute, const WeightSet& weights, Shape shape)
      : registry_(std::move(registry)), device_(device), compute_(compute) {
    const Version<Args>& few = registry_->pick<Args>(topic, shape(kFewRows), device, compute);
    const Version<Args>& many = registry_->pick<Args>(topic, shape(kManyRows), device, compute);
    bound_.emplace_back(few, weights, device);
    if (&many != &few) bound_.emplace_back(many, weights, device);
  }

  // Whether activations [T, width] are rounded before the version gets them.
  bool casts() const { return device_.backend != Backend::kCpu && compute_ != DType::kF32; }

  // For up to T rows of x, each `width` wide. Fewer rows may need more: a version that has few may
  // split its sums among more blocks.
  template <class Shape>
  std::int64_t workspace(std::int64_t T, std::int64_t width, Shape shape) const {
    std::int64_t most = bound(T).workspace(shape(T), device_);
    for (std::int64_t t = 1; t <= std::min(T, kFewRows); ++t) {
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
    return rows <= kFewRows ? bound_.front() : bound_.back();
  }

  TensorView cast(Exec& exec, View<const float, 2> x) const {
    const CastArgs args = {{x.data(), {x.size()}},
                           {exec.workspace.take<std::byte>(x.size() * bytes_of(compute_)).data(),
                            compute_,
                            {x.size()}}};
    registry_->pick<CastArgs>("cast", args, device_, compute_).run(exec, args, Prepared());
    return {args.y.data(), compute_, {x.extent(0), x.extent(1)}};
  }

  std::shared_ptr<const Registry> registry_;
  Device device_;
  DType compute_;
  std::vector<Bound<Args>> bound_;
};

class VersionLinear : public Linear {
 public:
  VersionLinear(std::shared_ptr<const Registry> registry, const Device& device, DType compute,
                const TensorView& weight)
      : weight_(weight, device, compute),
        versions_(std::move(registry), "matmul", device, compute, {{"w", weight_.view()}},
                  [&](std::int64_t T) { return shape(T); }) {}

  std::int64_t inputs() const override { return weight_.view().extent(1); }
  std::int64_t outputs() const override { return weight_.view().extent(0); }
  std::int64_t workspace(std::int64_t T) const override {
    return versions_.workspace(T, inputs(), [&](std::int64_t t) { return shape(t); });
  }
  void forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const override {
    MatmulArgs args = shape(x.extent(0));
    args.y = y;
    require(x.extent(1) == inputs(), "matmul: x [{}, {}] does not fit a weight {}", x.extent(0),
            x.extent(1), weight_.view().describe());
    versions_.run(exec, x, args);
  }

 private:
  MatmulArgs shape(std::int64_t T) const {
    return {{nullptr, DType::kF32, {T, inputs()}}, weight_.view(), {nullptr, {T, outputs()}}};
  }

  PlacedWeight weight_;
  Versions<MatmulArgs> versions_;
};

class VersionFfn : public FeedForward {
 public:
  VersionFfn(std::shared_ptr<const Registry> registry, const Device& device, DType compute,
             const FfnWeights& host)
      : weights_(host),
        versions_(std::move(registry), "ffn", device, compute, place(host, device, compute),
                  [&](std::int64_t T) { return shape(T); }) {}

  std::int64_t workspace(std::int64_t T) const override {
    return versions_.workspace(T, weights_.width(), [&](std::int64_t t) { return shape(t); });
  }
  void forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const override {
    FfnArgs args = shape(x.extent(0));
    args.y = y;
    require(x.extent(1) == weights_.width(), "feed-forward layer: x [{}, {}] does not fit D {}",
            x.extent(0), x.extent(1), weights_.width());
    versions_.run(exec, x, args);
  }

 private:
  // Puts the weights on the device, points weights_ at them and lists them for `prepare`.
  WeightSet place(const FfnWeights& host, const Device& device, DType compute) {
    WeightSet set;
    const auto matrix = [&](std::string_view name, const TensorView& w, TensorView& here) {
      placed_.emplace_back(w, device, compute);
      here = placed_.back().view();
      if (here.rank() > 0) set.add({name, here});
    };
    const auto bias = [&](View<const float, 1> b, View<const float, 1>& here) {
      if (b.size() == 0) return;
      placed_.emplace_back(TensorView(b), device, DType::kF32);
      here = placed_.back().view().as<const float, 1>();
    };
    matrix("gate", host.gate, weights_.gate);
    matrix("up", host.up, weights_.up);
    matrix("down", host.down, weights_.down);
    bias(host.gate_bias, weights_.gate_bias);
    bias(host.up_bias, weights_.up_bias);
    bias(host.down_bias, weights_.down_bias);
    return set;
  }

  FfnArgs shape(std::int64_t T) const {
    return {
        {nullptr, DType::kF32, {T, weights_.width()}}, weights_, {nullptr, {T, weights_.width()}}};
  }

  std::vector<PlacedWeight> placed_;
  FfnWeights weights_;
  Versions<FfnArgs> versions_;
};

class ReferenceLinear : public Linear {
 public:
  explicit ReferenceLinear(const TensorView& weight) : weight_(weight) {}
  std::int64_t inputs() const override { return weight_.extent(1); }
  std::int64_t outputs() const override { return weight_.extent(0); }
  std::int64_t workspace(std::int64_t) const override { return 0; }
  void forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const override {
    matmul_reference(exec, x, weight_, y);
  }

 private:
  TensorView weight_;
};

class ReferenceFfn : public FeedForward {
 public:
  explicit ReferenceFfn(const FfnWeights& weights) : weights_(weights) {}
  std::int64_t workspace(std::int64_t) const override { return 0; }
  void forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const override {
    ffn_reference(exec, x, weights_, y);
  }

 private:
  FfnWeights weights_;
};

}  // namespace

std::unique_ptr<Linear> ReferenceLinearFactory::make(const TensorView& weight) const {
  require_matrix(weight);
  return std::make_unique<ReferenceLinear>(weight);
}

std::unique_ptr<FeedForward> ReferenceLinearFactory::make_ffn(const FfnWeights& weights) const {
  check_shapes(weights);
  return std::make_unique<ReferenceFfn>(weights);
}

VersionLinearFactory::VersionLinearFactory(std::shared_ptr<const Registry> registry,
                                           const Device& device, std::optional<DType> compute)
    : registry_(std::move(registry)), device_(device), compute_(compute) {}

DType VersionLinearFactory::compute_for(const TensorView& weight) const {
  if (compute_) return *compute_;
  return weight.dtype() == DType::kBF16 ? DType::kBF16 : DType::kF32;
}

std::unique_ptr<Linear> VersionLinearFactory::make(const TensorView& weight) const {
  require_matrix(weight);
  return std::make_unique<VersionLinear>(registry_, device_, compute_for(weight), weight);
}

std::unique_ptr<FeedForward> VersionLinearFactory::make_ffn(const FfnWeights& weights) const {
  check_shapes(weights);
  return std::make_unique<VersionFfn>(registry_, device_, compute_for(weights.up), weights);
}

}  // namespace octavo
