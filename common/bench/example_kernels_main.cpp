// examples_bench and examples_counts: the example kernels of common/simt as a chapter's benchmark
// would have them, for the tests of how the two programs work together.

#include "common/bench/suite.h"
#include "common/simt/examples/examples.h"

namespace octavo::bench {
namespace {

using simt::examples::Transpose;
using testing::Operands;
using testing::Tolerance;
using testing::Topic;

struct TransposeShape {
  std::int64_t rows, cols;
};
struct TransposeArgs {
  View<const float, 2> x;  // [rows, cols]
  View<float, 2> y;        // [cols, rows]

  int rows() const { return static_cast<int>(x.extent(0)); }
  int cols() const { return static_cast<int>(x.extent(1)); }
};

Topic<TransposeShape, TransposeArgs> transpose_topic() {
  Topic<TransposeShape, TransposeArgs> topic;
  topic.name = "transpose";
  topic.describe = [](const TransposeShape& s) { return fmt::format("R:{}/C:{}", s.rows, s.cols); };
  topic.make = [](const TransposeShape& s, Operands& o) {
    return TransposeArgs{o.input<float>("x", {s.rows, s.cols}),
                         o.output<float>("y", {s.cols, s.rows})};
  };
  topic.tolerance = [](const TransposeShape&, DType) { return Tolerance{}; };
  topic.work = [](const TransposeShape& s, DType) {
    return Work{.flops = 0, .bytes = 8 * static_cast<double>(s.rows * s.cols)};
  };
  return topic;
}

template <Transpose V>
void transpose(Exec&, const TransposeArgs& a, const Prepared&) {
  simt::examples::on_simt::transpose(V, a.x.data(), a.y.data(), a.rows(), a.cols());
}
void transpose_on_host(Exec&, const TransposeArgs& a, const Prepared&) {
  simt::examples::transpose_reference(a.x.data(), a.y.data(), a.rows(), a.cols());
}
// Of another kind than all others: its launch is refused.
void refused(Exec&, const TransposeArgs& a, const Prepared&) {
  simt::examples::on_simt::transpose(Transpose::kNaive, a.x.data(), a.y.data(), 0, 0);
}

struct MatmulShape {
  std::int64_t T, N, K;
};
struct MatmulArgs {
  TensorView x, w;   // [T, K], [N, K] bf16
  View<float, 2> y;  // [T, N]
};

Topic<MatmulShape, MatmulArgs> matmul_topic() {
  Topic<MatmulShape, MatmulArgs> topic;
  topic.name = "matmul";
  topic.describe = [](const MatmulShape& s) {
    return fmt::format("T:{}/N:{}/K:{}", s.T, s.N, s.K);
  };
  topic.make = [](const MatmulShape& s, Operands& o) {
    return MatmulArgs{o.row_tensor("x", {s.T, s.K}), o.weight("w", {s.N, s.K}),
                      o.row_output<float>("y", {s.T, s.N})};
  };
  topic.tolerance = [](const MatmulShape&, DType) { return Tolerance{1e-2, 1e-2}; };
  topic.work = [](const MatmulShape& s, DType) {
    const auto T = static_cast<double>(s.T), N = static_cast<double>(s.N),
               K = static_cast<double>(s.K);
    return Work{.flops = 2 * T * N * K, .bytes = 2 * (T * K + N * K) + 4 * T * N};
  };
  return topic;
}

void matmul(Exec&, const MatmulArgs& a, const Prepared&) {
  simt::examples::on_simt::matmul({.x = static_cast<const std::uint16_t*>(a.x.data()),
                                   .w = static_cast<const std::uint16_t*>(a.w.data()),
                                   .y = a.y.data(),
                                   .T = static_cast<int>(a.x.extent(0)),
                                   .N = static_cast<int>(a.w.extent(0)),
                                   .K = static_cast<int>(a.x.extent(1))});
}

std::shared_ptr<const Registry> registry() {
  auto r = std::make_shared<Registry>();
  const auto add = [&](std::string_view name, Backend backend, auto run) {
    r->add("transpose", Version<TransposeArgs>{
                            .name = name, .backend = backend, .dtypes = {DType::kF32}, .run = run});
  };
  add("cpu_v1_naive", Backend::kCpu, transpose_on_host);
  add("gpu_v1_naive", Backend::kSimt, transpose<Transpose::kNaive>);
  add("gpu_v2_tiled", Backend::kSimt, transpose<Transpose::kTiled>);
  add("gpu_v3_refused", Backend::kSimt, refused);
  r->add("matmul", Version<MatmulArgs>{.name = "gpu_v1_mma",
                                       .backend = Backend::kSimt,
                                       .dtypes = {DType::kBF16},
                                       .run = matmul});
  return r;
}

}  // namespace
}  // namespace octavo::bench

int main(int argc, char** argv) {
  using namespace octavo::bench;
  Suite suite("examples", std::int64_t{1} << 22);
  suite.add(transpose_topic(), registry(), {{64, 96}, {2048, 2048}});
  suite.add(matmul_topic(), registry(), {{128, 192, 256}});
  return suite.main(argc, argv);
}
