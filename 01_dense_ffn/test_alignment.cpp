// Every version on operands that start one element late (common/testing/unaligned.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "01_dense_ffn/cast.h"
#include "01_dense_ffn/ffn.h"
#include "01_dense_ffn/matmul.h"
#include "01_dense_ffn/versions.h"
#include "common/testing/unaligned.h"

namespace octavo::dense_ffn {
namespace {

using ::testing::IsEmpty;
using testing::late_input;
using testing::late_output;
using testing::late_tensor;
using testing::Operands;
using testing::unaligned_breaches;

constexpr std::int64_t kT = 5, kD = 32, kF = 48;  // multiples of 16 bytes in every type

TEST(Alignment, MatmulTakesRowsThatStartAnywhere) {
  const auto make = [](Operands& o) {
    return MatmulArgs{late_tensor(o, "x", {kT, kD}), late_tensor(o, "w", {kF, kD}),
                      late_output<float>(o, "y", {kT, kF})};
  };
  EXPECT_THAT(unaligned_breaches<MatmulArgs>(*registry_of(append_versions), "matmul", make),
              IsEmpty());
}

TEST(Alignment, FfnTakesRowsThatStartAnywhere) {
  const auto make = [](Operands& o) {
    FfnArgs a{.x = late_tensor(o, "x", {kT, kD}),
              .weights = {},
              .y = late_output<float>(o, "y", {kT, kD})};
    a.weights.gate = late_tensor(o, "gate", {kF, kD});
    a.weights.up = late_tensor(o, "up", {kF, kD});
    a.weights.down = late_tensor(o, "down", {kD, kF});
    return a;
  };
  EXPECT_THAT(unaligned_breaches<FfnArgs>(*registry_of(append_versions), "ffn", make), IsEmpty());
}

TEST(Alignment, CastTakesElementsThatStartAnywhere) {
  const auto registry = registry_of(append_versions);
  for (const bool late_x : {false, true}) {
    for (const bool late_y : {false, true}) {
      testing::OperandSettings settings;
      settings.device = simt_device();
      settings.compute = DType::kBF16;
      Operands o(settings);
      constexpr std::int64_t n = 37;
      const View<const float, 1> x =
          late_x ? late_input<float>(o, "x", {n}) : o.input<float>("x", {n});
      const View<bf16, 1> y = late_y ? late_output<bf16>(o, "y", {n}) : o.output<bf16>("y", {n});
      const auto& v = registry->find<CastArgs>("cast", Backend::kSimt, "gpu_v1_vector");
      EXPECT_THAT(testing::detail::run_version(v, {x, TensorView(y)}, o), IsEmpty());
      EXPECT_THAT(o.damage(), IsEmpty());
      for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(y(i).bits, bf16(x(i)).bits) << i;
    }
  }
}

}  // namespace
}  // namespace octavo::dense_ffn
