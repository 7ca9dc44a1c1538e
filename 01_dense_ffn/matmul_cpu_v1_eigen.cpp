// Equation 1 by Eigen, the product that a C++ program reaches for first; x [T, K], w [N, K],
// y [T, N].
//
// Idea: a library's product on fp32 weights, its threads replaced by ours over output columns.
//
// What limits it: a general product rearranges both operands in every call, which a row or a few
// never repay, and bf16 weights have to become fp32 first, twice the bytes. It takes its kernel and
// its blocks by the shape, so that a row's bits change with the number of rows: the engine never
// picks it (BitsChangeWithTheBatch in test_cpu_versions.cpp shows where).
//
// FLOPs: 2 T N K. Bytes: 4 N K for the weights of every call, and as much again to rearrange them.

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <algorithm>

#include "01_dense_ffn/cpu_versions.h"
#include "common/base/threads.h"

namespace octavo::dense_ffn {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::int64_t kLeastColumns = 256;  // a task, so that what Eigen rearranges is used

Prepared prepare(const WeightSet& weights, const Device&) {
  return Prepared::of(converted(weights["w"], DType::kF32));
}

void run(Exec& exec, const MatmulArgs& a, const Prepared& prepared) {
  check_shapes(a);
  const std::int64_t T = a.rows(), N = a.outputs(), K = a.inputs();
  const auto w = prepared.get<Tensor>().view().as<const float, 2>();
  const Eigen::Map<const Matrix> X(a.x.as<const float, 2>().data(), T, K), W(w.data(), N, K);
  Eigen::Map<Matrix> Y(a.y.data(), T, N);
  if (Y.size() == 0) return;
  const std::int64_t each =
      std::max(kLeastColumns, (N + exec.threads.size() - 1) / exec.threads.size());
  exec.threads.parallel_for((N + each - 1) / each, [&](std::int64_t i) {
    const std::int64_t n = std::min(each, N - i * each);
    Y.middleCols(i * each, n).noalias() = X * W.middleRows(i * each, n).transpose();
  });
}

}  // namespace

Version<MatmulArgs> matmul_cpu_v1_eigen() {
  return {.name = "cpu_v1_eigen",
          .backend = Backend::kCpu,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = false,
          .prepare = prepare,
          .run = run};
}

}  // namespace octavo::dense_ffn
