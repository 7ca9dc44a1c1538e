#include "common/testing/exercise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

#include "common/simt/executor.h"
#include "common/testing/example_topic.h"

namespace octavo::testing {
namespace {

using example::Args;
using ::testing::HasSubstr;
using ::testing::Not;
using Body = void (*)(Exec&, const Args&, const Prepared&);

Verdict verdict_on(Body run, std::function<Verdict()> more = nullptr) {
  return judge({subjects_of(example::matmul_topic(), {.name = "exercise",
                                                      .backend = Backend::kCpu,
                                                      .dtypes = {DType::kF32},
                                                      .batch_invariant = true,
                                                      .run = run}),
                std::move(more)});
}

// T:3 N:5 K:7 comes first.
TEST(Exercise, ARightVersionIsRight) {
  const Verdict v = verdict_on(example::naive);
  EXPECT_TRUE(v.right);
  EXPECT_THAT(v.text, HasSubstr("  T:3/N:5/K:7 in F32          right\n"));
  EXPECT_THAT(v.text, HasSubstr("\nRight.\n"));
  EXPECT_THAT(v.text, Not(HasSubstr("wrong")));
}

TEST(Exercise, WhatTheContractDoesNotAskForIsJudgedLast) {
  const auto more = [](bool right) { return [=] { return Verdict{right, "it is slow.\n"}; }; };
  EXPECT_TRUE(verdict_on(example::naive, more(true)).right);
  const Verdict v = verdict_on(example::naive, more(false));
  EXPECT_FALSE(v.right);
  EXPECT_THAT(v.text, HasSubstr("Not yet: the values are right, but it is slow.\n"));
  const Verdict wrong = verdict_on([](Exec&, const Args&, const Prepared&) {}, more(true));
  EXPECT_FALSE(wrong.right);
  EXPECT_THAT(wrong.text, Not(HasSubstr("slow")));
}

TEST(Exercise, AnElementThatNobodyWrote) {
  const Verdict v = verdict_on([](Exec& exec, const Args& a, const Prepared& p) {
    if (a.y.size() > 1) example::naive(exec, {a.x, a.w, a.y}, p);
    if (a.y.size() == 15) a.y(2, 4) = std::numeric_limits<float>::quiet_NaN();
  });
  EXPECT_THAT(v.text, HasSubstr("Not yet: 2 of 3 shapes are wrong.\nThe first that is wrong is "
                                "T:3/N:5/K:7 in F32.\n"));
  EXPECT_THAT(v.text, HasSubstr("Element 14 of y is NaN and should be"));
  EXPECT_THAT(v.text, HasSubstr("either no thread wrote it"));
}

TEST(Exercise, AWrongValue) {
  const Verdict v = verdict_on([](Exec& exec, const Args& a, const Prepared& p) {
    example::naive(exec, a, p);
    a.y(0, 0) = 1000;
  });
  EXPECT_THAT(v.text,
              HasSubstr("1 of the 15 elements of y is wrong: element 0 is 1000 and should be "));
  EXPECT_EQ(
      in_words("y: 2 of 15 elements beyond 1 + 2 * |want|; worst element 3: got 4, want 5; x"),
      "2 of the 15 elements of y are wrong. The worst is element 3: it is 4 and should be 5.");
  EXPECT_EQ(in_words("y: 1 of 1 element beyond 1 + 2 * |want|; worst element 0: got 4, want 5; x"),
            "The one element of y is 4 and should be 5.");
}

TEST(Exercise, AWriteOutside) {
  const Verdict v = verdict_on([](Exec& exec, const Args& a, const Prepared& p) {
    example::naive(exec, a, p);
    a.y.data()[a.y.size() + 2] = 0;
    a.y.data()[-1] = 0;
    const_cast<float*>(a.x.data())[0] += 1;
  });
  EXPECT_THAT(v.text, HasSubstr("The input x was written."));
  EXPECT_THAT(v.text, HasSubstr("Something was written outside of y, 8 bytes past its end."));
  EXPECT_THAT(v.text, HasSubstr("Something was written outside of y, 4 bytes before its start."));
}

TEST(Exercise, ANaNThatDisappears) {
  const Verdict v = verdict_on([](Exec& exec, const Args& a, const Prepared& p) {
    example::naive(exec, a, p);
    example::each(a, [&](auto t, auto n) { return a.y(t, n) == a.y(t, n) ? a.y(t, n) : 0.0f; });
  });
  EXPECT_THAT(v.text, HasSubstr("With nan put into x: element"));
  EXPECT_THAT(v.text, HasSubstr("is 0 and should be nan."));
}

TEST(Exercise, ARowThatMindsItsNeighbours) {
  const Verdict v = verdict_on([](Exec& exec, const Args& a, const Prepared& p) {
    example::naive(exec, a, p);
    example::each(
        a, [&](auto t, auto n) { return a.y(t, n) * (a.y.extent(0) == 1 ? 1.0000001f : 1.0f); });
  });
  EXPECT_THAT(v.text, HasSubstr("With row 0 of the batch alone: y has other bits than among "
                                "its neighbours."));
}

TEST(Exercise, ARunThatStops) {
  const Verdict v = verdict_on([](Exec&, const Args&, const Prepared&) { fail("no {}", "room"); });
  EXPECT_THAT(v.text, HasSubstr("The run was stopped: no room\n"));
}

// Wrong in every order, and in each in another way: a barrier is missing somewhere.
TEST(Exercise, AWrongResultThatDependsOnTheOrderOfTheThreadsIsARace) {
  const auto on_executor = [](Body run) {
    return judge({subjects_of(example::matmul_topic(), {.name = "exercise",
                                                        .backend = Backend::kSimt,
                                                        .dtypes = {DType::kF32},
                                                        .batch_invariant = true,
                                                        .run = run})});
  };
  const Verdict race = on_executor([](Exec& exec, const Args& a, const Prepared& p) {
    example::naive(exec, a, p);
    a.y(0, 0) = 100.0f + static_cast<float>(simt::options().schedule);
  });
  EXPECT_THAT(race.text, HasSubstr("1 of the 15 elements of y is wrong"));
  EXPECT_THAT(race.text, HasSubstr("  There is a race: the result depends on the order in which "
                                   "threads run.\n  With the threads in another order (schedule "
                                   "rev, seed 1): y has other bits than before."));
  const Verdict wrong = on_executor([](Exec& exec, const Args& a, const Prepared& p) {
    example::naive(exec, a, p);
    a.y(0, 0) = 100;
  });
  EXPECT_THAT(wrong.text, HasSubstr("1 of the 15 elements of y is wrong"));
  EXPECT_THAT(wrong.text, Not(HasSubstr("race")));
}

TEST(Exercise, WhateverIsThrownStopsTheRunAndNotTheJudge) {
  const Verdict v = verdict_on([](Exec&, const Args&, const Prepared&) { throw 7; });
  EXPECT_THAT(v.text, HasSubstr("The run was stopped: something that is no std::exception"));
}

// What a judge of this version does, as a program of its own whose output is its messages.
void run_judge(Body run, int seconds) {
  dup2(STDERR_FILENO, STDOUT_FILENO);
  _exit(run_exercise("file.cu", [&] {
    return Exercise{
        .subjects = subjects_of(
            example::matmul_topic(),
            {.name = "exercise", .backend = Backend::kCpu, .dtypes = {DType::kF32}, .run = run}),
        .seconds = seconds};
  }));
}

class ExerciseDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ExerciseDeathTest, ARunWithoutEndIsAVerdict) {
  const Body endless = [](Exec&, const Args&, const Prepared&) {
    const volatile bool done = false;
    while (!done) {
    }
  };
  EXPECT_EXIT(run_judge(endless, 1), ::testing::ExitedWithCode(1),
              "Not yet: after 1 seconds the run has not come to an end.*\n  It was T:3/N:5/K:7");
}

TEST_F(ExerciseDeathTest, ACrashIsAVerdict) {
  const Body astray = [](Exec&, const Args& a, const Prepared&) {
    *const_cast<volatile float*>(a.y.data() + (std::int64_t{1} << 40)) = 1;
  };
  EXPECT_EXIT(run_judge(astray, 60), ::testing::ExitedWithCode(1),
              "Not yet: the run crashed: something was read or written that is no memory");
  const Body aborted = [](Exec&, const Args&, const Prepared&) { std::abort(); };
  EXPECT_EXIT(run_judge(aborted, 60), ::testing::ExitedWithCode(1), "Not yet: the run was aborted");
}

TEST(Exercise, OtherComplaintsKeepTheirWords) {
  EXPECT_EQ(in_words("schedule pct 2: y: other bits than in the first run"),
            "With the threads in another order (schedule pct, seed 2): y has other bits than "
            "before. Something is read before it is written, or two threads meet at one place with "
            "no barrier between them.");
  EXPECT_EQ(in_words("rows 0 to 2 alone: y: the memory 1 byte past its end was written"),
            "With rows 0 to 2 of the batch alone: something was written outside of y, 1 byte past "
            "its end.");
  EXPECT_EQ(in_words("on A100: exercise: 0 blocks"),
            "A device would refuse the launch (A100): exercise: 0 blocks");
  EXPECT_EQ(in_words("something new"), "Something new");
}

}  // namespace
}  // namespace octavo::testing
