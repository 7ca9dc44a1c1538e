#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/threads.h"
#include "common/device/registry.h"

namespace octavo {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct ScaleArgs {
  View<const float, 1> x;  // [N]
  View<float, 1> y;        // [N]
};

void scale(Exec&, const ScaleArgs& a, const Prepared&) {
  for (std::int64_t i = 0; i < a.x.size(); ++i) a.y(i) = 2 * a.x(i);
}
bool multiple_of_4(const ScaleArgs& a, const Device&) { return a.x.size() % 4 == 0; }

Version<ScaleArgs> version(std::string_view name, bool invariant = true,
                           Backend backend = Backend::kCpu) {
  return {.name = name,
          .backend = backend,
          .dtypes = {DType::kF32},
          .batch_invariant = invariant,
          .run = scale};
}

Registry ladder() {
  Registry r;
  r.add("scale", version("v1_naive"));
  Version<ScaleArgs> v2 = version("v2_vector");
  v2.supports = multiple_of_4;
  r.add("scale", v2);
  r.add("scale", version("v3_racy", false));
  r.add("scale", version("v1_naive", true, Backend::kSimt));
  return r;
}

ScaleArgs shape(std::int64_t n) { return {{nullptr, {n}}, {nullptr, {n}}}; }

TEST(Registry, PicksTheLastThatIsInvariantAndTakesTheShape) {
  const Registry r = ladder();
  EXPECT_EQ(r.pick("scale", shape(8), cpu_device(), DType::kF32).name, "v2_vector");
  EXPECT_EQ(r.pick("scale", shape(7), cpu_device(), DType::kF32).name, "v1_naive");
  EXPECT_EQ(r.pick("scale", shape(8), simt_device(), DType::kF32).backend, Backend::kSimt);
  EXPECT_THAT([&] { r.pick("scale", shape(8), cpu_device(), DType::kBF16); },
              ThrowsMessage<Error>(HasSubstr("on cpu with BF16")));
}

TEST(Registry, AnOverrideIsTakenOrRefusedButNeverIgnored) {
  Registry r = ladder();
  r.override_version("scale=v1_naive");
  EXPECT_EQ(r.pick("scale", shape(8), cpu_device(), DType::kF32).name, "v1_naive");
  r.override_version("scale=v2_vector");
  EXPECT_THAT([&] { r.pick("scale", shape(7), cpu_device(), DType::kF32); },
              ThrowsMessage<Error>(HasSubstr("the version chosen, v2_vector")));
  EXPECT_THROW(r.pick("scale", shape(8), simt_device(), DType::kF32), Error);
}

TEST(Registry, AnOverrideThatNobodyAskedForIsNamed) {
  Registry r = ladder();
  r.add("other", version("v1_naive"));
  EXPECT_TRUE(r.unused_overrides().empty());
  r.override_version("scale=v1_naive");
  r.override_version("other=v1_naive");
  EXPECT_EQ(r.unused_overrides(), (std::vector<std::string>{"other=v1_naive", "scale=v1_naive"}));
  (void)r.pick("scale", shape(8), cpu_device(), DType::kF32);
  const Registry moved = std::move(r);
  EXPECT_EQ(moved.unused_overrides(), (std::vector<std::string>{"other=v1_naive"}));
}

TEST(Registry, BadOverridesSayWhatThereIs) {
  Registry r = ladder();
  for (const char* bad : {"scale", "=v1", "scale=", ""}) {
    EXPECT_THAT([&] { r.override_version(bad); },
                ThrowsMessage<Error>(HasSubstr("topic=name is wanted")))
        << bad;
  }
  EXPECT_THAT([&] { r.override_version("ffn=v1"); },
              ThrowsMessage<Error>(HasSubstr("'ffn': there are scale")));
  EXPECT_THAT([&] { r.override_version("scale=v9"); },
              ThrowsMessage<Error>(
                  HasSubstr("v1_naive (cpu), v2_vector (cpu), v3_racy (cpu), v1_naive (simt)")));
  EXPECT_THAT([&] { r.override_version("scale=v3_racy"); },
              ThrowsMessage<Error>(HasSubstr("not batch-invariant")));
}

TEST(Registry, RefusesTwinsAndHalfMadeVersions) {
  Registry r = ladder();
  EXPECT_THAT([&] { r.add("scale", version("v1_naive")); },
              ThrowsMessage<Error>(HasSubstr("two versions v1_naive")));
  EXPECT_THROW(r.add("scale", version("")), Error);
  Version<ScaleArgs> no_run = version("v4");
  no_run.run = nullptr;
  EXPECT_THAT([&] { r.add("scale", no_run); }, ThrowsMessage<Error>(HasSubstr("no run function")));
  Version<ScaleArgs> no_types = version("v5");
  no_types.dtypes = {};
  EXPECT_THROW(r.add("scale", no_types), Error);
}

TEST(Registry, ATopicHasOneKindOfArguments) {
  Registry r = ladder();
  struct Other {};
  EXPECT_THROW(r.versions<Other>("scale"), Error);
  Version<Other> v;
  v.name = "x";
  v.dtypes = {DType::kF32};
  v.run = [](Exec&, const Other&, const Prepared&) {};
  EXPECT_THROW(r.add("scale", v), Error);
  EXPECT_NO_THROW(r.add("other", v));
}

TEST(Registry, ListsEverythingAndFindsByName) {
  const Registry r = ladder();
  const std::vector<VersionInfo> all = r.list();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[2].name, "v3_racy");
  EXPECT_FALSE(all[2].batch_invariant);
  EXPECT_EQ(r.find<ScaleArgs>("scale", Backend::kSimt, "v1_naive").backend, Backend::kSimt);
  EXPECT_THAT([&] { r.find<ScaleArgs>("scale", Backend::kCuda, "v1_naive"); },
              ThrowsMessage<Error>(HasSubstr("no version 'v1_naive' on cuda")));
}

TEST(Registry, TheVersionPickedRuns) {
  const Registry r = ladder();
  ThreadPool pool(1);
  Exec exec(cpu_device(), DType::kF32, pool, 0);
  std::vector<float> x = {1, 2, 3, 4}, y(4);
  const ScaleArgs args = {{x, {4}}, {y, {4}}};
  r.pick("scale", args, exec.device, exec.compute).run(exec, args, Prepared());
  EXPECT_EQ(y, (std::vector<float>{2, 4, 6, 8}));
}

}  // namespace
}  // namespace octavo
