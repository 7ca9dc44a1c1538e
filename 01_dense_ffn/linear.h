#pragma once
// Linear: Y[T, N] = X[T, K] W[N, K]^T (equation 1 of the README). K is contiguous in both operands,
// the order of published checkpoints. The interface lives here; whoever stores weights in another
// way plugs in another Linear.

#include <cstdint>
#include <memory>

#include "common/base/view.h"
#include "common/base/work.h"
#include "common/device/exec.h"
#include "common/device/tensor.h"

namespace octavo {

class Linear {
 public:
  virtual ~Linear() = default;

  virtual std::int64_t inputs() const = 0;   // K
  virtual std::int64_t outputs() const = 0;  // N

  // x [T, K] -> y [T, N], any T >= 0. Row t of y depends on row t of x alone, bit for bit. Throws
  // Error when a shape does not fit.
  virtual void forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const = 0;
};

// Turns the weights of a checkpoint into a Linear; called once for each matrix at load.
class LinearFactory {
 public:
  virtual ~LinearFactory() = default;
  // weight [N, K], rank 2, in host memory; it must outlive the Linear. Throws Error for another
  // rank or an empty matrix.
  virtual std::unique_ptr<Linear> make(const TensorView& weight) const = 0;
};

// The factory of the reference: weights stay where they are, in their own type.
class ReferenceLinearFactory : public LinearFactory {
 public:
  std::unique_ptr<Linear> make(const TensorView& weight) const override;
};

// The least a product of these sizes must do; weights take `weight_bytes` each, activations 4.
Work matmul_work(std::int64_t T, std::int64_t N, std::int64_t K, double weight_bytes);

// Equation 1 with sums in double, k ascending. x [T, K], w [N, K], y [T, N].
void matmul_reference(Exec& exec, View<const float, 2> x, const TensorView& w, View<float, 2> y);

}  // namespace octavo
