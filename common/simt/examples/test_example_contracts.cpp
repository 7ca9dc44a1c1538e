// The example kernels as versions in a registry, held to the contract of common/testing: what a
// chapter does with its own.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/simt/examples/examples.h"
#include "common/testing/contract.h"

namespace octavo::simt::examples {
namespace {

using octavo::testing::ContractTest;
using octavo::testing::name_of_subject;
using octavo::testing::Operands;
using octavo::testing::subjects;
using octavo::testing::Tolerance;
using octavo::testing::Topic;
using octavo::testing::Values;

struct Shape {
  std::int64_t rows, cols;
};
struct Args {
  View<const float, 2> x;  // [rows, cols]
  View<float, 2> y;        // softmax [rows, cols], transpose [cols, rows]

  int rows() const { return static_cast<int>(x.extent(0)); }
  int cols() const { return static_cast<int>(x.extent(1)); }
};

using RunVersion = void (*)(Exec&, const Args&, const Prepared&);

void add(Registry& registry, std::string_view topic, std::string_view name, Backend backend,
         bool rows, RunVersion run) {
  const Version<Args> v = {.name = name,
                           .backend = backend,
                           .dtypes = {DType::kF32},
                           .batch_invariant = rows,
                           .run = run};
  registry.add(topic, v);
}

template <Transpose V>
void transpose_on_simt(Exec& e, const Args& a, const Prepared&) {
  on_simt::transpose(V, a.x.data(), a.y.data(), a.rows(), a.cols(), e.stream.native());
}
void softmax_on_simt(Exec& e, const Args& a, const Prepared&) {
  on_simt::softmax(a.x.data(), a.y.data(), a.rows(), a.cols(), e.stream.native());
}

#ifdef OCTAVO_CUDA
template <Transpose V>
void transpose_on_cuda(Exec& e, const Args& a, const Prepared&) {
  on_cuda::transpose(V, a.x.data(), a.y.data(), a.rows(), a.cols(), e.stream.native());
}
void softmax_on_cuda(Exec& e, const Args& a, const Prepared&) {
  on_cuda::softmax(a.x.data(), a.y.data(), a.rows(), a.cols(), e.stream.native());
}
#endif

void append_versions(Registry& r) {
  add(r, "softmax", "gpu_v1_warp", Backend::kSimt, true, softmax_on_simt);
  add(r, "transpose", "gpu_v1_naive", Backend::kSimt, false, transpose_on_simt<Transpose::kNaive>);
  add(r, "transpose", "gpu_v2_tiled", Backend::kSimt, false, transpose_on_simt<Transpose::kTiled>);
  add(r, "transpose", "gpu_v3_padded", Backend::kSimt, false,
      transpose_on_simt<Transpose::kPadded>);
#ifdef OCTAVO_CUDA
  add(r, "softmax", "gpu_v1_warp", Backend::kCuda, true, softmax_on_cuda);
  add(r, "transpose", "gpu_v1_naive", Backend::kCuda, false, transpose_on_cuda<Transpose::kNaive>);
  add(r, "transpose", "gpu_v2_tiled", Backend::kCuda, false, transpose_on_cuda<Transpose::kTiled>);
  add(r, "transpose", "gpu_v3_padded", Backend::kCuda, false,
      transpose_on_cuda<Transpose::kPadded>);
#endif
}

Topic<Shape, Args> topic_of(std::string name, Tolerance tolerance) {
  Topic<Shape, Args> topic;
  topic.name = std::move(name);
  topic.describe = [](const Shape& s) { return fmt::format("R:{}/C:{}", s.rows, s.cols); };
  topic.tolerance = [tolerance](const Shape&, DType) { return tolerance; };
  topic.nonfinite_inputs = {"x"};
  return topic;
}

Topic<Shape, Args> softmax_topic() {
  Topic<Shape, Args> topic = topic_of("softmax", {.absolute = 1e-7, .relative = 1e-5});
  topic.shapes = {{9, 70}, {1, 1}, {3, 32}, {5, 31}, {4, 1000}};
  topic.make = [](const Shape& s, Operands& o) {
    return Args{o.row_input<float>("x", {s.rows, s.cols}),
                o.row_output<float>("y", {s.rows, s.cols})};
  };
  topic.rows = [](const Shape& s) { return s.rows; };
  topic.with_rows = [](const Shape& s, std::int64_t rows) { return Shape{rows, s.cols}; };
  topic.reference = [](const Shape& s, const Operands& o) {
    std::vector<double> y = o.values("x");
    for (std::int64_t r = 0; r < s.rows; ++r) {
      double* const row = y.data() + r * s.cols;
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t c = 0; c < s.cols; ++c) largest = std::fmax(largest, row[c]);
      for (std::int64_t c = 0; c < s.cols; ++c) sum += row[c] = std::exp(row[c] - largest);
      for (std::int64_t c = 0; c < s.cols; ++c) row[c] /= sum;
    }
    return Values{{"y", y}};
  };
  return topic;
}

Topic<Shape, Args> transpose_topic() {
  Topic<Shape, Args> topic = topic_of("transpose", {});
  topic.shapes = {{65, 70}, {1, 1}, {31, 33}, {32, 64}, {3, 200}};
  topic.make = [](const Shape& s, Operands& o) {
    return Args{o.input<float>("x", {s.rows, s.cols}), o.output<float>("y", {s.cols, s.rows})};
  };
  topic.reference = [](const Shape& s, const Operands& o) {
    const std::vector<double> x = o.values("x");
    std::vector<double> y;
    for (std::int64_t c = 0; c < s.cols; ++c) {
      for (std::int64_t r = 0; r < s.rows; ++r)
        y.push_back(x[static_cast<std::size_t>(r * s.cols + c)]);
    }
    return Values{{"y", y}};
  };
  return topic;
}

class ExampleContract : public ContractTest {};
TEST_P(ExampleContract, Holds) { check(); }
INSTANTIATE_TEST_SUITE_P(Softmax, ExampleContract,
                         ::testing::ValuesIn(subjects(softmax_topic(),
                                                      registry_of(append_versions))),
                         name_of_subject);
INSTANTIATE_TEST_SUITE_P(Transpose, ExampleContract,
                         ::testing::ValuesIn(subjects(transpose_topic(),
                                                      registry_of(append_versions))),
                         name_of_subject);

}  // namespace
}  // namespace octavo::simt::examples
