#include <gtest/gtest.h>

#include <vector>

#include "common/base/view.h"
#include "common/base/work.h"

namespace octavo {
namespace {

TEST(View, IndexesRowMajorAndSlices) {
  std::vector<int> data = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const View<int, 3> v(data, {2, 3, 2});
  EXPECT_EQ(v.size(), 12);
  EXPECT_EQ(v(1, 2, 1), 11);
  EXPECT_EQ(v(1, 0)(1), 7);
  EXPECT_EQ(v(1)(2, 0), 10);
  EXPECT_EQ(v.rows(1, 2)(0, 1, 1), 9);
  v(0, 0, 0) = 42;
  EXPECT_EQ(data[0], 42);
  const View<const int, 3> c = v;
  EXPECT_EQ(c(0, 0, 0), 42);
}

TEST(View, EmptyAxesAreAllowed) {
  const View<const float, 2> v(nullptr, {0, 8});
  EXPECT_EQ(v.size(), 0);
  EXPECT_EQ(v.rows(0, 0).extent(1), 8);
}

TEST(Work, AddsAndDivides) {
  const Work w = Work{100, 20} + Work{100, 30};
  EXPECT_EQ(w.flops, 200);
  EXPECT_DOUBLE_EQ(w.intensity(), 4.0);
  EXPECT_EQ(Work{}.intensity(), 0);
}

}  // namespace
}  // namespace octavo
