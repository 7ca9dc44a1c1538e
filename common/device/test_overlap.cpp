#include "common/device/overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/error.h"

namespace octavo {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Overlap, OneByteInCommonIsTooMuch) {
  std::vector<float> memory(12);
  const auto part = [&](int first, std::int64_t count) {
    return View<float, 1>(memory.data() + first, {count});
  };
  const auto check = [&](View<float, 1> y, View<float, 1> x) {
    require_apart("product", {{"y", y}}, {{"x", x}});
  };
  EXPECT_NO_THROW(check(part(0, 4), part(4, 4)));
  EXPECT_NO_THROW(check(part(4, 4), part(0, 4)));
  EXPECT_NO_THROW(check(part(2, 0), part(0, 4)));  // no elements
  EXPECT_NO_THROW(check({nullptr, {4}}, {nullptr, {4}}));
  for (int first : {1, 4, 7}) {
    EXPECT_THAT([&] { check(part(first, 4), part(4, 4)); },
                ThrowsMessage<Error>(HasSubstr("product: y lies over x")))
        << first;
  }
  EXPECT_THROW(check(part(0, 12), part(4, 1)), Error);  // one inside the other, both ways
  EXPECT_THROW(check(part(4, 1), part(0, 12)), Error);
}

TEST(Overlap, OutputsAreApartFromEachOtherAndInputsNeedNotBe) {
  std::vector<int> ids(4);
  std::vector<float> weights(4), x(4);
  const View<int, 1> i(ids, {4});
  const View<float, 1> w(weights, {4}), in(x, {4});
  EXPECT_NO_THROW(require_apart("gate", {{"ids", i}, {"weights", w}}, {{"x", in}, {"again", in}}));
  const TensorView over_ids(ids.data(), DType::kF32, {4});
  EXPECT_THAT(
      [&] {
        require_apart("gate", {{"ids", i}, {"weights", over_ids}}, {});
      },
      ThrowsMessage<Error>(HasSubstr("weights lies over ids")));
}

}  // namespace
}  // namespace octavo
