#pragma once
// Every conformance test runs in each of the executor's covering schedules, in two of them with two
// workers as well; on a GPU once.

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "common/base/philox.h"
#include "common/simt/executor.h"
#include "common/simt/tests/conformance.h"
#include "common/simt/tests/memory.h"

namespace octavo::simt::conformance {

namespace kernels = OCTAVO_SIMT_TEST_BACKEND;
using memory::Shared;

class Conformance : public ::testing::TestWithParam<Options> {
 protected:
  void SetUp() override {
    if (!memory::backend::device_present()) {
      const char* required = std::getenv("OCTAVO_REQUIRE_GPU");
      if (required != nullptr && *required == '1')
        FAIL() << "OCTAVO_REQUIRE_GPU=1, and no CUDA device here";
      GTEST_SKIP() << "no CUDA device here";
    }
    scope_.emplace(GetParam());
  }
  static void finish() { memory::backend::synchronize(); }

  // 32 random bits, the same in every run.
  static std::uint32_t random(std::uint32_t stream, std::uint64_t i) {
    return philox({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), stream, 0},
                  {1, 2})[0];
  }

 private:
  std::optional<ScopedOptions> scope_;
};

inline std::vector<Options> schedules_under_test() {
#if defined(OCTAVO_SIMT_TEST_ON_GPU)
  return {Options{}};
#else
  std::vector<Options> list = covering_schedules();
  for (Schedule schedule : {Schedule::kForward, Schedule::kPct}) {  // blocks side by side
    Options o;
    o.schedule = schedule;
    o.workers = 2;
    list.push_back(o);
  }
  return list;
#endif
}
inline std::string name_of_schedule(const ::testing::TestParamInfo<Options>& info) {
  return std::string(name_of(info.param.schedule)) + std::to_string(info.param.seed) +
         (info.param.workers == 1 ? "" : "_workers" + std::to_string(info.param.workers));
}

}  // namespace octavo::simt::conformance

namespace octavo::simt {
inline void PrintTo(const Options& o, std::ostream* out) {
  *out << name_of(o.schedule) << ' ' << o.seed;
}
}  // namespace octavo::simt
