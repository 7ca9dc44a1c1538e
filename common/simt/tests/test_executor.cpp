// The host's side: options, launch limits, counts, and what is left of an error.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "common/simt/executor.h"
#include "common/simt/tests/conformance.h"

namespace octavo::simt {
namespace {

using ::testing::HasSubstr;
namespace kernels = conformance::on_simt;

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Options, TheEnvironmentIsReadAndNonsenseRefused) {
  setenv("OCTAVO_SIMT_SCHEDULE", "pct", 1);
  setenv("OCTAVO_SIMT_SEED", "12", 1);
  setenv("OCTAVO_SIMT_WORKERS", "3", 1);
  const Options o = Options::from_environment();
  EXPECT_EQ(o.schedule, Schedule::kPct);
  EXPECT_EQ(o.seed, 12u);
  EXPECT_EQ(o.workers, 3);
  for (const auto& [name, value] : {std::pair{"OCTAVO_SIMT_SCHEDULE", "fifo"},
                                    {"OCTAVO_SIMT_SEED", "-1"},
                                    {"OCTAVO_SIMT_WORKERS", "0"}}) {
    setenv(name, value, 1);
    const std::string message = message_of([] { Options::from_environment(); });
    EXPECT_THAT(message, HasSubstr(std::string(name) + " is '" + value + "'"));
    unsetenv(name);
  }
  unsetenv("OCTAVO_SIMT_SCHEDULE");
  unsetenv("OCTAVO_SIMT_SEED");
  unsetenv("OCTAVO_SIMT_WORKERS");
}

TEST(Options, ScopesNestAndEnd) {
  const Schedule outside = options().schedule;
  Options o;
  o.schedule = Schedule::kSkew;
  {
    const ScopedOptions outer(o);
    o.schedule = Schedule::kReverse;
    {
      const ScopedOptions inner(o);
      EXPECT_EQ(options().schedule, Schedule::kReverse);
    }
    EXPECT_EQ(options().schedule, Schedule::kSkew);
  }
  EXPECT_EQ(options().schedule, outside);
  o.workers = 0;
  EXPECT_THAT(message_of([&] { ScopedOptions refused(o); }), HasSubstr("workers is 0"));
  o.workers = 1;
  o.stack_bytes = 100;
  EXPECT_THAT(message_of([&] { ScopedOptions refused(o); }), HasSubstr("stack_bytes is 100"));
}

TEST(Launch, LimitsOfTheHardwareAreNamed) {
  unsigned out[12];
  int flag = 0;
  EXPECT_THAT(message_of([&] {
                kernels::indices({0, 1, 1}, {1, 1, 1}, out);
              }),
              HasSubstr("gridDim.x is 0, must be from 1 to 2147483647"));
  EXPECT_THAT(message_of([&] {
                kernels::indices({1, 65536, 1}, {1, 1, 1}, out);
              }),
              HasSubstr("gridDim.y is 65536, must be from 1 to 65535"));
  EXPECT_THAT(message_of([&] {
                kernels::indices({1, 1, 1}, {1, 1, 65}, out);
              }),
              HasSubstr("blockDim.z is 65, must be from 1 to 64"));
  EXPECT_THAT(message_of([&] {
                kernels::indices({1, 1, 1}, {64, 32, 1}, out);
              }),
              HasSubstr("a block of 2048 threads, the limit is 1024"));
  EXPECT_THAT(message_of([&] { kernels::shared_arrays(60000, &flag); }),
              HasSubstr("240000 bytes of dynamic shared memory, the limit is 232448"));
  EXPECT_THAT(message_of([&] { kernels::shared_arrays(58112, &flag); }),
              HasSubstr("a block may have 232448"));
  EXPECT_THAT(message_of([&] { kernels::shared_arrays(0, &flag); }),
              HasSubstr("0 bytes of dynamic shared memory"));
}

TEST(Launch, CountsWhatItDid) {
  const std::vector<int> predicate(64, 1);
  std::vector<int> out(64);
  kernels::block_vote(conformance::BlockVote::kCount, 64, predicate.data(), out.data());
  EXPECT_EQ(last_launch().blocks, 1u);
  EXPECT_EQ(last_launch().threads, 64u);
  EXPECT_EQ(last_launch().barriers, 2u);  // the vote is taken twice
  EXPECT_EQ(last_launch().warp_operations, 0u);
  int flag = 0;
  kernels::shared_arrays(100, &flag);
  EXPECT_EQ(last_launch().shared_bytes, 2u * 128 + 400);
  std::vector<std::uint32_t> a(128), b(64);
  std::vector<float> c(128), d(128);
  kernels::mma(conformance::Number::kBf16, a.data(), b.data(), c.data(), d.data());
  EXPECT_EQ(last_launch().mma, 1u);
  EXPECT_EQ(last_launch().mma_flops, 2u * 16 * 8 * 16);
}

// Two blocks, both wrong: the address of an atomic is not a multiple of its size.
void fail_in_a_kernel() {
  static std::vector<int> cell(2), operand(64), old(64);
  int* crooked = reinterpret_cast<int*>(reinterpret_cast<char*>(cell.data()) + 2);
  kernels::atomic(conformance::Atomic::kAdd, false, 32, crooked, operand.data(), old.data());
}

TEST(KernelErrors, SayWhichKernelBlockAndThread) {
  Options o;
  o.schedule = Schedule::kReverse;
  const ScopedOptions scope(o);
  try {
    fail_in_a_kernel();
    FAIL() << "a misaligned atomic passed";
  } catch (const KernelError& error) {
    EXPECT_THAT(error.kernel(), HasSubstr("atomic_kernel"));
    EXPECT_EQ(error.block().x, 1u);
    EXPECT_EQ(error.thread().x, 31u);
    EXPECT_THAT(error.what(), HasSubstr("atomicAdd: the address ends in"));
    EXPECT_THAT(error.what(), HasSubstr("block (1,0,0), thread (31,0,0)"));
    EXPECT_THAT(error.what(), HasSubstr("OCTAVO_SIMT_SCHEDULE=rev"));
  }
}

TEST(KernelErrors, LeaveTheExecutorUsableWithOneWorkerAndTwo) {
  for (int workers : {1, 2}) {
    Options o;
    o.workers = workers;
    const ScopedOptions scope(o);
    for (int i = 0; i < 3; ++i) {
      EXPECT_THROW(fail_in_a_kernel(), KernelError);
      std::vector<int> in(64), out(64);
      for (int k = 0; k < 64; ++k) in[static_cast<std::size_t>(k)] = k;
      kernels::named_barriers(2, in.data(), out.data());
      EXPECT_EQ(out[0], 31);
      EXPECT_EQ(out[63], 32);
    }
  }
}

TEST(Stacks, SizeIsAnOption) {
  Options o;
  o.stack_bytes = 1 << 20;
  const ScopedOptions scope(o);
  std::vector<unsigned> out(12 * 1024);
  kernels::indices({1, 1, 1}, {1024, 1, 1}, out.data());
  EXPECT_EQ(out[12 * 1023], 1023u);
}

}  // namespace
}  // namespace octavo::simt
