// Rows that start anywhere: a checkpoint in memory promises no alignment, so a row length that is a
// multiple of 16 bytes is not enough for loads of 16. Here every operand starts one element late.

#include <gtest/gtest.h>

#include "01_dense_ffn/ffn.h"
#include "01_dense_ffn/matmul.h"
#include "01_dense_ffn/versions.h"
#include "common/testing/contract.h"

namespace octavo::dense_ffn {
namespace {

using testing::Operands;

constexpr std::int64_t kT = 5, kD = 32, kF = 48;  // multiples of 16 bytes in every type

TensorView late(Operands& o, const std::string& name, std::int64_t rows, std::int64_t columns) {
  const TensorView t = o.tensor(name, {rows * columns + 1}, o.normal(name, 0.2));
  return {static_cast<std::byte*>(t.data()) + bytes_of(t.dtype()), t.dtype(), {rows, columns}};
}

View<float, 2> late_output(Operands& o, std::int64_t rows, std::int64_t columns) {
  return {o.output<float>("y", {rows * columns + 1}).data() + 1, {rows, columns}};
}

void make(Operands& o, MatmulArgs& a) {
  a = {late(o, "x", kT, kD), late(o, "w", kF, kD), late_output(o, kT, kF)};
}

void make(Operands& o, FfnArgs& a) {
  a = {.x = late(o, "x", kT, kD), .weights = {}, .y = late_output(o, kT, kD)};
  a.weights.gate = late(o, "gate", kF, kD);
  a.weights.up = late(o, "up", kF, kD);
  a.weights.down = late(o, "down", kD, kF);
}

template <class Args>
std::vector<float> result(const Version<Args>& version, DType compute) {
  testing::OperandSettings settings;
  settings.device = simt_device();
  settings.compute = compute;
  Operands operands(settings);
  Args args;
  make(operands, args);
  for (const std::string& complaint : testing::detail::run_version(version, args, operands)) {
    ADD_FAILURE() << version.name << ": " << complaint;
  }
  const std::vector<double> y = operands.result("y");
  return {y.begin() + 1, y.end()};
}

// Against the topic's first version of the executor, which loads one element at a time.
template <class Args>
void expect_agreement(std::string_view topic) {
  Registry registry;
  append_versions(registry);
  const Version<Args>* first = nullptr;
  for (const Version<Args>& v : registry.versions<Args>(topic)) {
    if (v.backend != Backend::kSimt) continue;
    if (first == nullptr) first = &v;
    for (const DType compute : {DType::kF32, DType::kBF16}) {
      if (!v.dtypes.contains(compute)) continue;
      const std::vector<float> want = result(*first, compute), got = result(v, compute);
      const testing::Comparison c =
          testing::compare(got.data(), want.data(), static_cast<std::int64_t>(got.size()),
                           {.absolute = compute == DType::kF32 ? 1e-5 : 2e-3});
      EXPECT_TRUE(c.ok) << topic << " " << v.name << " " << name_of(compute) << ": " << c.message;
    }
  }
}

TEST(Alignment, MatmulTakesRowsThatStartAnywhere) { expect_agreement<MatmulArgs>("matmul"); }
TEST(Alignment, FfnTakesRowsThatStartAnywhere) { expect_agreement<FfnArgs>("ffn"); }

}  // namespace
}  // namespace octavo::dense_ffn
