#include <gtest/gtest.h>

#include "common/base/error.h"

namespace octavo {
namespace {

TEST(Error, SubstituteFillsBracesInOrderAndLeavesTheRest) {
  const std::string values[] = {"7", "{}", "x"};
  EXPECT_EQ(detail::substitute("K is {}, want {}", values, 2), "K is 7, want {}");
  EXPECT_EQ(detail::substitute("no braces", values, 3), "no braces");
  EXPECT_EQ(detail::substitute("{}{} {}", values, 1), "7{} {}");
}

TEST(Error, RequireThrowsWithTheFormattedMessage) {
  require(true, "never {}", 1);
  try {
    require(false, "K is {}, must be a multiple of {}", 7, 8);
    FAIL() << "require let a false condition pass";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "K is 7, must be a multiple of 8");
  }
}

}  // namespace
}  // namespace octavo
