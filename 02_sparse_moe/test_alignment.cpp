// Rows that start anywhere: a checkpoint in memory promises no alignment, so a row length that is a
// multiple of 16 bytes is not enough for loads of 16. Here every operand starts one element late.

#include <gtest/gtest.h>

#include "02_sparse_moe/topics.h"
#include "02_sparse_moe/versions.h"
#include "common/testing/contract.h"

namespace octavo::sparse_moe {
namespace {

using testing::Operands;

constexpr std::int64_t kT = 5, kTopK = 2, kE = 8, kD = 32, kF = 48;  // multiples of 16 bytes

TensorView late(Operands& o, const std::string& name, std::initializer_list<std::int64_t> extents) {
  std::int64_t size = 1;
  for (std::int64_t e : extents) size *= e;
  const TensorView t = o.tensor(name, {size + 1}, o.normal(name, 0.2));
  return {static_cast<std::byte*>(t.data()) + bytes_of(t.dtype()), t.dtype(), extents};
}

View<float, 2> late_output(Operands& o, std::int64_t rows, std::int64_t columns) {
  return {o.output<float>("y", {rows * columns + 1}).data() + 1, {rows, columns}};
}

void make(Operands& o, ExpertsArgs& a) {
  a.x = late(o, "x", {kT, kD});
  a.weights.gate = late(o, "gate", {kE, kF, kD});
  a.weights.up = late(o, "up", {kE, kF, kD});
  a.weights.down = late(o, "down", {kE, kD, kF});
  a.ids = o.input<int>("ids", {kT, kTopK}, [](std::int64_t) { return 3; });
  a.weight = o.input<float>("weight", {kT, kTopK});
  a.offsets = o.input<int>("offsets", {kE + 1}, [](std::int64_t e) { return e > 3 ? 10 : 0; });
  a.order =
      o.input<int>("order", {kT * kTopK}, [](std::int64_t i) { return static_cast<double>(i); });
  a.y = late_output(o, kT, kD);
}

void make(Operands& o, GatingArgs& a) {
  a.logits = {o.input<float>("logits", {kT * kE + 1}).data() + 1, {kT, kE}};
  a.bias = {o.input<float>("bias", {kE + 1}).data() + 1, {kE}};
  a.ids = o.output<int>("ids", {kT, kTopK});
  a.weights = {o.output<float>("y", {kT * kTopK + 1}).data() + 1, {kT, kTopK}};
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

TEST(Alignment, ExpertsTakeRowsThatStartAnywhere) { expect_agreement<ExpertsArgs>("experts"); }
TEST(Alignment, GatingTakesRowsThatStartAnywhere) { expect_agreement<GatingArgs>("gating"); }

}  // namespace
}  // namespace octavo::sparse_moe
