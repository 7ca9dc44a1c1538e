#pragma once
// Linear: a matrix of weights, ready to be applied. The interface lives here; whoever stores
// weights in another way plugs in another Linear (chapter 08 does).

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "01_dense_ffn/ffn.h"
#include "01_dense_ffn/matmul.h"
#include "common/device/registry.h"

namespace octavo {

class Linear {
 public:
  virtual ~Linear() = default;

  virtual std::int64_t inputs() const = 0;   // K
  virtual std::int64_t outputs() const = 0;  // N

  // Bytes of exec.workspace that a forward of up to T rows takes.
  virtual std::int64_t workspace(std::int64_t T) const = 0;

  // x [T, K] -> y [T, N], any T >= 0. On the cpu, row t of y depends on row t of x alone, bit for
  // bit. Throws Error when a shape does not fit.
  virtual void forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const = 0;
};

// A feed-forward layer: two thirds of a transformer block's weights, independent for each token.
class FeedForward {
 public:
  virtual ~FeedForward() = default;

  // As Linear's.
  virtual std::int64_t workspace(std::int64_t T) const = 0;

  // x [T, D] -> y [T, D], without the residual. On the cpu, row t of y depends on row t of x alone,
  // bit for bit.
  virtual void forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const = 0;
};

// Where a factory takes versions from.
struct VersionChoice {
  std::shared_ptr<const Registry> registry;
  Device device;
  // The type weights are kept in. Empty: each weight's own, where the versions take it, else fp32.
  std::optional<DType> compute = {};

  DType compute_for(const TensorView& weight) const;
};

// Turns the weights of a checkpoint into layers; called once for each at load. Weights are in host
// memory and must outlive what is made of them.
class LinearFactory {
 public:
  virtual ~LinearFactory() = default;
  // weight [N, K]. Throws Error for another rank or an empty matrix.
  virtual std::unique_ptr<Linear> make(const TensorView& weight) const = 0;
  // Throws Error when the matrices do not fit each other.
  virtual std::unique_ptr<FeedForward> make_ffn(const FfnWeights& weights) const = 0;
  // For layers that later chapters make of versions; null: by the references, or another way.
  virtual const VersionChoice* versions() const { return nullptr; }
};

// The references: weights stay where they are, in their own type.
class ReferenceLinearFactory : public LinearFactory {
 public:
  std::unique_ptr<Linear> make(const TensorView& weight) const override;
  std::unique_ptr<FeedForward> make_ffn(const FfnWeights& weights) const override;
};

// The best versions of the registry on a device. On a GPU a few rows and many rows may be served by
// two versions; the cpu has one for all.
class VersionLinearFactory : public LinearFactory {
 public:
  explicit VersionLinearFactory(VersionChoice choice) : choice_(std::move(choice)) {}
  VersionLinearFactory(std::shared_ptr<const Registry> registry, const Device& device,
                       std::optional<DType> compute = {})
      : choice_{std::move(registry), device, compute} {}
  std::unique_ptr<Linear> make(const TensorView& weight) const override;
  std::unique_ptr<FeedForward> make_ffn(const FfnWeights& weights) const override;
  const VersionChoice* versions() const override { return &choice_; }

 private:
  VersionChoice choice_;
};

}  // namespace octavo
