#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common/base/error.h"
#include "common/base/threads.h"

namespace octavo {
namespace {

TEST(ThreadPool, EveryIndexOnceForAnyCountAndSize) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (int n : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> hits(static_cast<std::size_t>(n));
      pool.parallel_for(n, [&](std::int64_t i) { hits[static_cast<std::size_t>(i)]++; });
      for (const auto& h : hits) EXPECT_EQ(h.load(), 1);
    }
  }
}

constexpr int kCannotTry = 3;

// Exits with 0 when a pool that may not start threads throws and says how many it wanted.
void start_where_no_thread_may() {
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_NPROC, &none);
  // The limit does not bind root; and a root of a user namespace alone can become nobody else.
  if (getuid() == 0 && setuid(65534) != 0) std::_Exit(kCannotTry);
  try {
    ThreadPool pool(8);
  } catch (const std::runtime_error& error) {
    std::_Exit(std::string(error.what()).find("8 threads") != std::string::npos ? 0 : 4);
  }
  std::_Exit(5);
}

TEST(ThreadPool, FailureToStartIsAnError) {
  const auto passed = [](int status) {
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kCannotTry);
  };
  EXPECT_EXIT(start_where_no_thread_may(), passed, "");
}

TEST(ThreadPool, ManySmallJobsInARow) {
  ThreadPool pool(4);
  std::atomic<std::int64_t> sum{0};
  for (int job = 0; job < 2000; ++job) pool.parallel_for(5, [&](std::int64_t i) { sum += i; });
  EXPECT_EQ(sum.load(), 2000 * 10);
}

TEST(ThreadPool, AnExceptionReachesTheCallerAndThePoolGoesOn) {
  ThreadPool pool(3);
  EXPECT_THROW(pool.parallel_for(100,
                                 [](std::int64_t i) {
                                   if (i == 17) fail("index {}", i);
                                 }),
               Error);
  std::atomic<int> count{0};
  pool.parallel_for(10, [&](std::int64_t) { ++count; });
  EXPECT_EQ(count.load(), 10);
}

TEST(ThreadPool, NestedCallsRunSerially) {
  ThreadPool pool(2);
  std::atomic<int> count{0};
  pool.parallel_for(4, [&](std::int64_t) { pool.parallel_for(4, [&](std::int64_t) { ++count; }); });
  EXPECT_EQ(count.load(), 16);
}

TEST(ThreadPool, TwoCallersTakeTurns) {
  ThreadPool pool(2);
  std::atomic<int> count{0};
  const auto caller = [&] {
    for (int i = 0; i < 200; ++i) pool.parallel_for(3, [&](std::int64_t) { ++count; });
  };
  std::thread other(caller);
  caller();
  other.join();
  EXPECT_EQ(count.load(), 1200);
}

TEST(ThreadPool, DefaultSizeReadsTheEnvironmentAndRefusesNonsense) {
  ASSERT_EQ(setenv("OCTAVO_THREADS", "3", 1), 0);
  EXPECT_EQ(ThreadPool::default_size(), 3);
  for (const char* bad : {"0", "-1", "two", "4x", "99999999999999999999", "1025"}) {
    setenv("OCTAVO_THREADS", bad, 1);
    EXPECT_THROW(ThreadPool::default_size(), Error) << bad;
  }
  unsetenv("OCTAVO_THREADS");
  EXPECT_GE(ThreadPool::default_size(), 1);
}

}  // namespace
}  // namespace octavo
