#pragma once
// Topic "matmul": Y[T, N] = X[T, K] W[N, K]^T (equation 1 of the README). K is contiguous in both
// operands, the order of published checkpoints.

#include <cstdint>

#include "common/base/view.h"
#include "common/base/work.h"
#include "common/device/exec.h"
#include "common/device/tensor.h"

namespace octavo {

// One product. A version with a `prepare` takes its weights from there, from the WeightSet's "w",
// and looks only at the extents of `w`.
struct MatmulArgs {
  TensorView x;      // [T, K]; fp32 on the cpu, elsewhere the compute type; any T >= 0
  TensorView w;      // [N, K] in the compute type
  View<float, 2> y;  // [T, N]; sums are fp32

  std::int64_t rows() const { return x.extent(0); }     // T
  std::int64_t outputs() const { return w.extent(0); }  // N
  std::int64_t inputs() const { return w.extent(1); }   // K
};

// Throws Error when the extents do not fit each other, or when y lies over x.
void check_shapes(const MatmulArgs& args);

// The least a product of these sizes must do; weights take `weight_bytes` each, activations 4.
Work matmul_work(std::int64_t T, std::int64_t N, std::int64_t K, double weight_bytes);

// Equation 1 with sums in double, k ascending. x [T, K], w [N, K] of any type, y [T, N].
void matmul_reference(Exec& exec, View<const float, 2> x, const TensorView& w, View<float, 2> y);

}  // namespace octavo
