// Every version on operands that start one element late (common/testing/unaligned.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "02_sparse_moe/topics.h"
#include "02_sparse_moe/versions.h"
#include "common/testing/unaligned.h"

namespace octavo::sparse_moe {
namespace {

using ::testing::IsEmpty;
using testing::late_input;
using testing::late_output;
using testing::late_tensor;
using testing::Operands;
using testing::unaligned_breaches;

constexpr std::int64_t kT = 5, kTopK = 2, kE = 8, kD = 32, kF = 48;  // multiples of 16 bytes

// All slots go to expert 3. A fill counts from the element before the operand. Each matrix starts
// late by itself, then all of them.
TEST(Alignment, ExpertsTakeRowsThatStartAnywhere) {
  for (const std::string_view late : {"x", "gate", "up", "down", "all"}) {
    const auto make = [late](Operands& o) {
      const auto tensor = [&](const char* name, std::initializer_list<std::int64_t> extents) {
        return late == "all" || late == name ? late_tensor(o, name, extents)
                                             : o.tensor(name, extents, o.normal(name, 0.2));
      };
      ExpertsArgs a;
      a.x = tensor("x", {kT, kD});
      a.weights.gate = tensor("gate", {kE, kF, kD});
      a.weights.up = tensor("up", {kE, kF, kD});
      a.weights.down = tensor("down", {kE, kD, kF});
      a.ids = late_input<int>(o, "ids", {kT, kTopK}, [](std::int64_t) { return 3; });
      a.weight = late_input<float>(o, "weight", {kT, kTopK});
      a.offsets = late_input<int>(o, "offsets", {kE + 1},
                                  [](std::int64_t i) { return i - 1 > 3 ? kT * kTopK : 0; });
      a.order = late_input<int>(o, "order", {kT * kTopK},
                                [](std::int64_t i) { return static_cast<double>(i - 1); });
      a.y = late_output<float>(o, "y", {kT, kD});
      return a;
    };
    EXPECT_THAT(unaligned_breaches<ExpertsArgs>(*registry_of(append_versions), "experts", make),
                IsEmpty())
        << late;
  }
}

TEST(Alignment, GatingTakesRowsThatStartAnywhere) {
  for (const std::string_view late : {"logits", "bias", "all"}) {
    const auto make = [late](Operands& o) {
      const auto is_late = [&](std::string_view name) { return late == "all" || late == name; };
      GatingArgs a;
      a.logits = is_late("logits") ? late_input<float>(o, "logits", {kT, kE})
                                   : o.input<float>("logits", {kT, kE});
      a.bias = is_late("bias") ? late_input<float>(o, "bias", {kE}) : o.input<float>("bias", {kE});
      a.ids = late_output<int>(o, "ids", {kT, kTopK});
      a.weights = late_output<float>(o, "weights", {kT, kTopK});
      return a;
    };
    EXPECT_THAT(unaligned_breaches<GatingArgs>(*registry_of(append_versions), "gating", make),
                IsEmpty())
        << late;
  }
}

TEST(Alignment, AlignTakesIdsThatStartAnywhere) {
  const auto make = [](Operands& o) {
    AlignArgs a;
    a.ids = late_input<int>(o, "ids", {kT, kTopK},
                            [](std::int64_t i) { return static_cast<double>(i * i % kE); });
    a.offsets = late_output<int>(o, "offsets", {kE + 1});
    a.order = late_output<int>(o, "order", {kT * kTopK});
    return a;
  };
  EXPECT_THAT(unaligned_breaches<AlignArgs>(*registry_of(append_versions), "align", make),
              IsEmpty());
}

}  // namespace
}  // namespace octavo::sparse_moe
