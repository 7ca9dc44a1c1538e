// Every version on operands that start one element late (common/testing/unaligned.h).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "03_switch_deepseek_routing/topics.h"
#include "03_switch_deepseek_routing/versions.h"
#include "common/testing/unaligned.h"

namespace octavo::switch_routing {
namespace {

using ::testing::IsEmpty;
using testing::late_input;
using testing::late_output;
using testing::Operands;
using testing::unaligned_breaches;

// 256 experts are 8 to a lane, which loads them 16 bytes at a time where it may.
TEST(Alignment, GroupedTopKTakesRowsThatStartAnywhere) {
  constexpr std::int64_t kT = 5;
  const DeepseekRouting v3 = deepseek_v3_gate(kT).routing;
  const auto make = [&](Operands& o) {
    GroupedTopKArgs a;
    a.logits = late_input<float>(o, "logits", {kT, v3.experts});
    a.bias = late_input<float>(o, "bias", {v3.experts});
    a.routing = v3;
    a.ids = late_output<int>(o, "ids", {kT, v3.top_k});
    a.weights = late_output<float>(o, "weights", {kT, v3.top_k});
    return a;
  };
  EXPECT_THAT(
      unaligned_breaches<GroupedTopKArgs>(*registry_of(append_versions), "grouped_top_k", make),
      IsEmpty());
}

TEST(Alignment, CapacityDispatchTakesSlotsThatStartAnywhere) {
  constexpr std::int64_t kT = 300, kTopK = 2, kE = 8;
  const auto make = [](Operands& o) {
    CapacityDispatchArgs a;
    a.ids = late_input<int>(o, "ids", {kT, kTopK},
                            [](std::int64_t i) { return static_cast<double>(i * i % kE); });
    a.weights = late_input<float>(o, "weights", {kT, kTopK});
    a.capacity = 60;
    a.place = late_output<int>(o, "place", {kT, kTopK});
    a.kept = late_output<float>(o, "kept", {kT, kTopK});
    a.load = late_output<int>(o, "load", {kE});
    return a;
  };
  EXPECT_THAT(unaligned_breaches<CapacityDispatchArgs>(*registry_of(append_versions),
                                                       "capacity_dispatch", make),
              IsEmpty());
}

}  // namespace
}  // namespace octavo::switch_routing
