// Every version on operands that start one element late (common/testing/unaligned.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "01_dense_ffn/ffn.h"
#include "01_dense_ffn/matmul.h"
#include "01_dense_ffn/versions.h"
#include "common/testing/unaligned.h"

namespace octavo::dense_ffn {
namespace {

using ::testing::IsEmpty;
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

}  // namespace
}  // namespace octavo::dense_ffn
