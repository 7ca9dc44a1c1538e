#include "common/base/counted.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

TEST(Counted, OneIsSingularAndEveryOtherNumberPlural) {
  EXPECT_EQ(counted(1, "token").text(), "1 token");
  EXPECT_EQ(counted(0, "token").text(), "0 tokens");
  EXPECT_EQ(counted(2, "token").text(), "2 tokens");
  EXPECT_EQ(counted(21, "token").text(), "21 tokens");
  EXPECT_EQ(counted(-1, "token").text(), "-1 tokens");
  EXPECT_EQ(counted(std::size_t{1}, "KV head").text(), "1 KV head");
}

TEST(Counted, APluralOfItsOwn) {
  EXPECT_EQ(counted(1, "launch", "launches").text(), "1 launch");
  EXPECT_EQ(counted(3, "launch", "launches").text(), "3 launches");
}

TEST(Counted, IsFormattedAsText) {
  EXPECT_EQ(fmt::format("{} of {:>8}", counted(1, "row"), counted(2, "row")), "1 row of   2 rows");
}

}  // namespace
}  // namespace octavo
