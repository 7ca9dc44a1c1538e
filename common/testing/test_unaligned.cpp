// A version that reads its rows where they are passes; one that rounds an address down to 16 bytes,
// as a load of 16 would, and one that writes before its output are found out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/testing/example_topic.h"
#include "common/testing/unaligned.h"

namespace octavo::testing {
namespace {

using namespace example;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Body = void (*)(Exec&, const Args&, const Prepared&);

Version<Args> version(std::string_view name, Body run) {
  return {.name = name,
          .backend = Backend::kSimt,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .run = run};
}

std::vector<std::string> verdict(Body run) {
  Registry registry;
  registry.add("matmul", version("v1", naive));
  registry.add("matmul", version("v2", run));
  return unaligned_breaches<Args>(registry, "matmul", [](Operands& o) {
    return Args{late_input<float>(o, "x", {3, 8}), late_tensor(o, "w", {4, 8}),
                late_output<float>(o, "y", {3, 4})};
  });
}

TEST(Unaligned, OperandsStartOneElementLate) {
  OperandSettings settings;
  settings.device = cpu_device();
  Operands o(settings);
  const View<const int, 2> ids =
      late_input<int>(o, "ids", {2, 3}, [](std::int64_t i) { return static_cast<double>(i); });
  EXPECT_EQ(ids(0, 0), 1);
  EXPECT_EQ(ids(1, 2), 6);
  const TensorView w = late_tensor(o, "w", {2, 3});
  EXPECT_EQ(static_cast<double>(w.as<const float, 2>()(0, 0)), o.values("w")[1]);
  EXPECT_EQ(o.size_of("w"), 7);
  late_output<float>(o, "y", {4})(3) = 1;
  EXPECT_EQ(o.result("y")[4], 1);
}

TEST(Unaligned, AnHonestVersionPasses) {
  EXPECT_THAT(verdict([](Exec& e, const Args& a, const Prepared& p) { naive(e, a, p); }),
              IsEmpty());
}

TEST(Unaligned, AnAddressThatIsRoundedDownIsFound) {
  const auto rounded = [](Exec& e, const Args& a, const Prepared& p) {
    const auto address = reinterpret_cast<std::uintptr_t>(a.x.data()) / 16 * 16;
    naive(e, {{reinterpret_cast<const float*>(address), a.x.extents()}, a.w, a.y}, p);
  };
  EXPECT_THAT(verdict(rounded), Contains(AllOf(HasSubstr("matmul v2 F32"), HasSubstr("y: "))));
}

TEST(Unaligned, AWriteBeforeTheOutputIsFound) {
  const auto before = [](Exec& e, const Args& a, const Prepared& p) {
    naive(e, a, p);
    a.y.data()[-1] = 0;
  };
  EXPECT_THAT(verdict(before), Contains(HasSubstr("matmul v2 BF16: y: ")));
}

}  // namespace
}  // namespace octavo::testing
