#include "01_dense_ffn/linear.h"

#include <utility>
#include <vector>

#include "01_dense_ffn/version_layer.h"
#include "common/base/error.h"

namespace octavo {
namespace {

using dense_ffn::PlacedWeight;
using dense_ffn::Versions;

void require_matrix(const TensorView& weight) {
  require(weight.rank() == 2 && weight.size() > 0, "a weight is {}, must be [N, K] and not empty",
          weight.describe());
}

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

DType VersionChoice::compute_for(const TensorView& weight) const {
  if (compute) return *compute;
  return weight.dtype() == DType::kBF16 ? DType::kBF16 : DType::kF32;
}

std::unique_ptr<Linear> VersionLinearFactory::make(const TensorView& weight) const {
  require_matrix(weight);
  return std::make_unique<VersionLinear>(choice_.registry, choice_.device,
                                         choice_.compute_for(weight), weight);
}

std::unique_ptr<FeedForward> VersionLinearFactory::make_ffn(const FfnWeights& weights) const {
  check_shapes(weights);
  return std::make_unique<VersionFfn>(choice_.registry, choice_.device,
                                      choice_.compute_for(weights.up), weights);
}

}  // namespace octavo
