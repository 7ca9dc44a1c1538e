// A barrier removed from a working kernel must be found: by the schedules the tests run, and by the
// thread sanitizer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/simt/tests/programs.h"

namespace octavo::simt {
namespace {

using programs::output_of;
using programs::schedule;
using ::testing::HasSubstr;

class RemovedBarrier : public ::testing::TestWithParam<const char*> {};

#if !defined(OCTAVO_SIMT_SANITIZED)
TEST_P(RemovedBarrier, IsFoundByPct) {
  int wrong = 0;
  for (int seed = 1; seed <= 3; ++seed) {
    wrong += output_of("simt_removed_barriers", GetParam(), schedule("pct", seed)) == "WRONG\n";
  }
  EXPECT_GT(wrong, 0);
}

TEST_P(RemovedBarrier, IsFoundBySkew) {
  int wrong = 0;
  for (int seed = 0; seed <= 1; ++seed) {
    wrong += output_of("simt_removed_barriers", GetParam(), schedule("skew", seed)) == "WRONG\n";
  }
  EXPECT_GT(wrong, 0);
}
#endif

#if defined(OCTAVO_SIMT_TSAN_PROGRAM)
// In two orders: the sanitizer keeps the last few accesses of an address, and under fwd the second
// barrier of scan has hundreds of reads before the first write.
TEST_P(RemovedBarrier, IsARaceToTheThreadSanitizer) {
  std::string text = output_of(OCTAVO_SIMT_TSAN_PROGRAM, GetParam(), schedule("fwd", 1));
  text += output_of(OCTAVO_SIMT_TSAN_PROGRAM, GetParam(), schedule("rev", 1));
  EXPECT_THAT(text, HasSubstr("WARNING: ThreadSanitizer: data race"));
}
#endif

INSTANTIATE_TEST_SUITE_P(Examples, RemovedBarrier,
                         ::testing::Values("matmul_1", "matmul_2", "scan_1", "scan_2", "scan_3",
                                           "transpose_1"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace octavo::simt
