// Equation 1 with weights packed at load; x [T, K], w [N, K], y [T, N].
//
// Idea: v1 rearranges both operands in every call, which one row or a few never repay, and it
// chooses its kernel by the shape. Here the weights are rearranged once (packed_matrix.h), and all
// row counts run the same chains of fused multiply-adds (packed_kernel.h): a row's bits do not
// depend on the batch.
//
// What limits it: up to kFewRows rows the reading of the weights, once, in their storage type,
// until their multiply-adds take longer; for many rows the multiply-adds.
//
// FLOPs: 2 T N K. Bytes: N K weights once for every kRowBlock rows; 4 T (N + K) at least.

#include "01_dense_ffn/cpu_versions.h"
#include "01_dense_ffn/packed_matrix.h"

namespace octavo::dense_ffn {

template class PackedMatrix<simd::Native>;

namespace {

Prepared prepare(const WeightSet& weights, const Device&) {
  return Prepared::of(PackedMatrix<>(weights["w"]));
}

void run(Exec& exec, const MatmulArgs& a, const Prepared& prepared) {
  check_shapes(a);
  const auto& w = prepared.get<PackedMatrix<>>();
  require(w.outputs() == a.outputs() && w.inputs() == a.inputs(),
          "matmul: the packed weight is [{}, {}], the call's {}", w.outputs(), w.inputs(),
          a.w.describe());
  const auto x = a.x.as<const float, 2>();
  for_each_tile(exec.threads, a.rows(), w.strips(), [&](Range rows, Range strips) {
    w.product(x.rows(rows.begin, rows.end), a.y.rows(rows.begin, rows.end), strips);
  });
}

}  // namespace

Version<MatmulArgs> matmul_cpu_v2_packed() {
  return {.name = "cpu_v2_packed",
          .backend = Backend::kCpu,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .prepare = prepare,
          .run = run};
}

}  // namespace octavo::dense_ffn
