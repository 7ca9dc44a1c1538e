#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "common/base/error.h"
#include "common/testing/operands.h"

namespace octavo::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OperandSettings host() {
  OperandSettings settings;
  settings.device = cpu_device();
  return settings;
}

TEST(Operands, InputsHaveUnitVarianceAndDependOnSeedAndName) {
  Operands a(host());
  a.input<float>("x", {100, 100});
  a.input<float>("y", {100, 100});
  OperandSettings other = host();
  other.seed = 2;
  Operands b(other);
  b.input<float>("x", {100, 100});
  const std::vector<double> x = a.values("x");
  double mean = 0, square = 0;
  for (double v : x) {
    mean += v / 1e4;
    square += v * v / 1e4;
  }
  EXPECT_NEAR(mean, 0, 0.04);
  EXPECT_NEAR(square, 1, 0.05);
  EXPECT_NE(x, a.values("y"));
  EXPECT_NE(x, b.values("x"));
}

TEST(Operands, AWindowOfRowsHasTheRowsOfTheBatch) {
  Operands batch(host());
  batch.row_input<float>("x", {5, 7});
  batch.input<float>("w", {5, 7});
  OperandSettings part = host();
  part.rows = {3, 1};
  Operands alone(part);
  alone.row_input<float>("x", {1, 7});
  alone.input<float>("w", {5, 7});
  const std::vector<double> x = batch.values("x");
  EXPECT_EQ(alone.values("x"), std::vector<double>(x.begin() + 21, x.begin() + 28));
  EXPECT_EQ(alone.values("w"), batch.values("w"));
}

TEST(Operands, OutputsStartAsNanOrAnImpossibleIndex) {
  Operands o(host());
  o.output<float>("y", {3});
  o.output<bf16>("z", {3});
  o.output<std::int32_t>("ids", {2});
  for (const char* name : {"y", "z"}) {
    for (double v : o.result(name)) EXPECT_TRUE(std::isnan(v)) << name;
  }
  EXPECT_LT(o.result("ids")[0], -1000000);
  EXPECT_THAT(o.outputs(), ElementsAre("y", "z", "ids"));
}

TEST(Operands, DamageNamesTheOperandAndThePlace) {
  Operands o(host());
  const View<const float, 1> x = o.input<float>("x", {4});
  const View<float, 1> y = o.output<float>("y", {4});
  for (int i = 0; i < 4; ++i) y(i) = x(i);
  EXPECT_THAT(o.damage(), ElementsAre());
  y.data()[4] = 1;
  EXPECT_THAT(o.damage(), ElementsAre(HasSubstr("y: the memory 0 bytes past its end")));
  y.data()[-1] = 1;
  EXPECT_THAT(o.damage(),
              ElementsAre(HasSubstr("y: the memory 4 bytes before it"), HasSubstr("past its end")));
  const_cast<float*>(x.data())[2] = 7;
  EXPECT_THAT(o.damage(), ::testing::Contains(HasSubstr("x: an input was written")));
}

// A kernel that squares each element and does not know where to stop: NaN squared keeps its bits.
TEST(Operands, DamageIsSeenWhereAnInputsGuardIsWrittenToAnOutputs) {
  Operands o(host());
  const View<const float, 1> x = o.input<float>("x", {4});
  const View<float, 1> y = o.output<float>("y", {4});
  for (int i = 0; i < 5; ++i) y.data()[i] = x.data()[i] * x.data()[i];
  EXPECT_THAT(o.damage(), ElementsAre(HasSubstr("y: the memory 0 bytes past its end")));
}

TEST(Operands, ReadingPastTheEndGivesNanOrAnIndexThatCounts) {
  Operands o(host());
  EXPECT_TRUE(std::isnan(o.input<float>("x", {4}).data()[4]));
  const bf16* z = o.input<bf16>("z", {4}).data();
  EXPECT_TRUE(std::isnan(static_cast<float>(z[-1])));
  EXPECT_TRUE(std::isnan(static_cast<float>(o.input<half>("h", {4}).data()[5])));
  const std::int32_t* ids = o.input<std::int32_t>("ids", {3}, [](auto) { return -1.0; }).data();
  EXPECT_EQ(ids[-1], 1);
  EXPECT_EQ(ids[3], 1);
}

TEST(Operands, APlantedValueReplacesOneElement) {
  OperandSettings settings = host();
  settings.plant = Plant{"x", 9, 100};
  settings.rows = {1, 1};
  Operands o(settings);
  o.row_input<float>("x", {1, 6});
  EXPECT_EQ(o.values("x")[3], 100);
}

TEST(Operands, WeightsAreGivenByNameInTheComputeType) {
  OperandSettings settings = host();
  settings.compute = DType::kBF16;
  Operands o(settings);
  const TensorView w = o.weight("up", {8, 64});
  EXPECT_EQ(w.dtype(), DType::kBF16);
  const WeightSet set = o.weights();
  EXPECT_EQ(std::memcmp(set["up"].data(), w.data(), 8 * 64 * 2), 0);
  EXPECT_NE(set["up"].data(), w.data());
  double square = 0;
  for (double v : o.values("up")) square += v * v;
  EXPECT_NEAR(square / 8, 1, 0.3);
}

TEST(Operands, ShapesOnlyAllocatesNothing) {
  OperandSettings settings = host();
  settings.shapes_only = true;
  Operands o(settings);
  EXPECT_EQ(o.input<float>("x", {std::int64_t{1} << 40}).data(), nullptr);
}

TEST(Operands, RepeatedValuesHaveThePeriod) {
  OperandSettings settings = host();
  settings.repeat = 4;
  Operands o(settings);
  o.input<float>("x", {10});
  const std::vector<double> x = o.values("x");
  EXPECT_EQ(x[1], x[9]);
  EXPECT_NE(x[1], x[2]);
  o.input<std::int32_t>("ids", {6}, [](std::int64_t i) { return static_cast<double>(i); });
  EXPECT_THAT(o.values("ids"), ElementsAre(0, 1, 2, 3, 4, 5));  // integers are what they are
}

TEST(Operands, NamesAreUsedOnceAndIntegersNeedAFill) {
  Operands o(host());
  o.input<std::int32_t>("ids", {3}, [](std::int64_t i) { return 2.0 * static_cast<double>(i); });
  EXPECT_THAT(o.values("ids"), ElementsAre(0, 2, 4));
  EXPECT_THROW((o.input<float>("ids", {3})), Error);
  EXPECT_THROW((o.input<std::int64_t>("table", {3})), Error);
  EXPECT_THROW(o.values("none"), Error);
}

}  // namespace
}  // namespace octavo::testing
