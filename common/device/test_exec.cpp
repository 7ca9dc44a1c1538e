#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/threads.h"
#include "common/device/exec.h"
#include "common/device/prepared.h"

namespace octavo {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Workspace, HandsOutAlignedPiecesAndRefusesMore) {
  Workspace w(cpu_device(), Workspace::bytes_for<float>(3) + Workspace::bytes_for<char>(1));
  EXPECT_EQ(w.size(), 512);
  const View<float, 1> a = w.take<float>(3);
  const View<char, 1> b = w.take<char>(1);
  EXPECT_EQ(reinterpret_cast<char*>(a.data()) + 256, b.data());
  EXPECT_THAT([&] { w.take<char>(1); },
              ThrowsMessage<Error>(HasSubstr("0 of 512 bytes left, 256 were asked for")));
  EXPECT_THROW(w.take<char>(-1), Error);
  EXPECT_THROW(w.take<float>(std::int64_t{1} << 62), Error);  // of 4 bytes: 2^64, which wraps to 0
}

TEST(Workspace, AScopeGivesBack) {
  Workspace w(cpu_device(), 512);
  {
    Workspace::Scope scope(w);
    w.take<float>(100);
    EXPECT_EQ(w.used(), 512);
  }
  EXPECT_EQ(w.used(), 0);
}

TEST(Workspace, CanBorrow) {
  alignas(256) std::byte memory[256];
  Workspace w(View<std::byte, 1>(memory, {256}));
  EXPECT_EQ(static_cast<void*>(w.take<int>(2).data()), memory);
}

TEST(Workspace, MemoryThatStartsAnywhereIsRefused) {
  alignas(256) std::byte memory[512];
  for (const std::int64_t late : {1, 16, 128}) {
    EXPECT_THROW(Workspace(View<std::byte, 1>(memory + late, {256})), Error) << late;
  }
  EXPECT_NO_THROW(Workspace(View<std::byte, 1>(memory + 256, {256})));
}

TEST(Exec, CarriesWhatAVersionNeeds) {
  ThreadPool pool(1);
  Exec exec(simt_device(), DType::kBF16, pool, 1024);
  EXPECT_EQ(exec.backend(), Backend::kSimt);
  EXPECT_EQ(exec.stream.backend(), Backend::kSimt);
  EXPECT_EQ(exec.workspace.size(), 1024);
}

TEST(Prepared, GivesBackItsOwnTypeOnly) {
  const Prepared p = Prepared::of(std::vector<int>{1, 2});
  EXPECT_EQ(p.get<std::vector<int>>().size(), 2u);
  EXPECT_THROW(p.get<std::vector<float>>(), Error);
  EXPECT_TRUE(Prepared().empty());
  EXPECT_THAT([] { Prepared().get<int>(); }, ThrowsMessage<Error>(HasSubstr("or not at all")));
}

TEST(WeightSet, FindsByName) {
  std::vector<float> up(4);
  const WeightSet weights = {{"up", TensorView(View<float, 2>(up, {2, 2}))}};
  EXPECT_EQ(weights["up"].extent(0), 2);
  EXPECT_THAT([&] { (void)weights["gate"]; }, ThrowsMessage<Error>(HasSubstr("'gate'")));
}

}  // namespace
}  // namespace octavo
