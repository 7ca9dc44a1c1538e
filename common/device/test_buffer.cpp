#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <type_traits>

#include "common/device/buffer.h"
#include "common/device/tensor.h"

namespace octavo {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

static_assert(!std::is_copy_constructible_v<DeviceBuffer<float>> &&
              !std::is_copy_assignable_v<DeviceBuffer<float>>);
static_assert(std::is_nothrow_move_constructible_v<DeviceBuffer<float>>);

class HostBackends : public ::testing::TestWithParam<Backend> {
 protected:
  Device device_ = device_of(GetParam());
  Stream stream_{device_};
};
INSTANTIATE_TEST_SUITE_P(All, HostBackends, ::testing::Values(Backend::kCpu, Backend::kSimt),
                         [](const auto& p) { return std::string(name_of(p.param)); });

TEST_P(HostBackends, UploadAndDownloadGiveTheValuesBack) {
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 1.f);
  const DeviceBuffer<float> buffer = upload(device_, values, stream_);
  EXPECT_EQ(buffer.size(), 1000);
  EXPECT_EQ(buffer.bytes(), 4000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256, 0u);
  EXPECT_EQ(download(buffer, stream_), values);
}

TEST_P(HostBackends, AMoveLeavesOneOwner) {
  DeviceBuffer<int> a(device_, 8);
  int* const p = a.data();
  DeviceBuffer<int> b = std::move(a);
  EXPECT_EQ(b.data(), p);
  EXPECT_EQ(a.data(), nullptr);
  EXPECT_EQ(a.size(), 0);
  b = DeviceBuffer<int>(device_, 3);
  EXPECT_EQ(b.size(), 3);
}

TEST_P(HostBackends, EmptyBuffersAndImpossibleCounts) {
  EXPECT_EQ(DeviceBuffer<float>(device_, 0).data(), nullptr);
  EXPECT_THAT([&] { DeviceBuffer<float>(device_, -1); },
              ThrowsMessage<Error>(HasSubstr("a count of -1 elements")));
  EXPECT_THROW(DeviceBuffer<float>(device_, INT64_MAX / 2), Error);
}

#ifdef OCTAVO_PLAIN_ALLOCATOR  // a sanitizer's allocator ends the program instead
TEST_P(HostBackends, MemoryThatIsNotThereIsAnError) {
  EXPECT_THAT([&] { DeviceBuffer<char>(device_, std::int64_t{1} << 60); },
              ThrowsMessage<Error>(HasSubstr("1152921504606846976 bytes")));
}
#endif

TEST_P(HostBackends, CopiesWantEqualShapes) {
  std::vector<float> a = {1, 2, 3, 4, 5, 6}, b(6);
  copy(View<float, 2>(b, {2, 3}), View<const float, 2>(a, {2, 3}), stream_);
  EXPECT_EQ(a, b);
  EXPECT_THROW(copy(View<float, 2>(b, {3, 2}), View<const float, 2>(a, {2, 3}), stream_), Error);
}

TEST_P(HostBackends, EventsMeasureTime) {
  Event begin(device_), end(device_);
  begin.record(stream_);
  volatile double sum = 0;
  for (int i = 0; i < 100000; ++i) sum = sum + i;
  end.record(stream_);
  end.synchronize();
  stream_.wait(end);
  EXPECT_GT(end.seconds_since(begin), 0.0);
}

TEST(DeviceBuffer, AViewHasTheBuffersSize) {
  const DeviceBuffer<float> buffer(cpu_device(), 6);
  EXPECT_EQ((buffer.view({2, 3}).extent(1)), 3);
  EXPECT_THAT(
      [&] {
        buffer.view({2, 4});
      },
      ThrowsMessage<Error>(HasSubstr("8 elements on a buffer of 6")));
}

TEST(TensorView, IsReadAsWhatItIs) {
  std::vector<bf16> values(12);
  const TensorView t(View<bf16, 2>(values, {3, 4}));
  EXPECT_EQ(t.describe(), "BF16 [3, 4]");
  EXPECT_EQ(t.bytes(), 24);
  EXPECT_EQ((t.as<const bf16, 2>().extent(1)), 4);
  EXPECT_THAT(([&] { (void)t.as<float, 2>(); }),
              ThrowsMessage<Error>(HasSubstr("BF16 [3, 4] where F32 of rank 2")));
  EXPECT_THROW((void)(t.as<bf16, 1>()), Error);
  EXPECT_THROW(TensorView(nullptr, DType::kF32, {1, 2, 3, 4, 5}), Error);
  EXPECT_THROW(TensorView(nullptr, DType::kF32, {1, -2}), Error);
}

TEST(Tensor, OwnsACopy) {
  std::vector<float> values = {1, 2, 3, 4};
  Stream stream(cpu_device());
  const Tensor tensor(cpu_device(), TensorView(View<float, 2>(values, {2, 2})), stream);
  values[3] = 9;
  EXPECT_EQ((tensor.view().as<const float, 2>()(1, 1)), 4.f);
  EXPECT_EQ(Tensor(cpu_device(), DType::kF16, {5, 2}).view().bytes(), 20);
}

}  // namespace
}  // namespace octavo
