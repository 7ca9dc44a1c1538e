// Each planted mistake, in each build and schedule, must be seen at least as well as stated here: a
// verdict that gets weaker is a regression of the executor.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>

#include "common/simt/tests/programs.h"

namespace octavo::simt {
namespace {

using ::testing::HasSubstr;

const std::string kSchedules[] = {programs::schedule("fwd", 1), programs::schedule("rev", 1),
                                  programs::schedule("rand", 1), programs::schedule("rand", 2),
                                  programs::schedule("pct", 1)};

struct Mistake {
  const char* name;
  const char* plain;    // for each of kSchedules: D refused by the executor, W wrong result, S
                        // silent, C crash
  const char* message;  // part of what the executor says under fwd; "": it says nothing
  const char* asan;  // part of the address and undefined-behaviour sanitizers' report; or D, W, S
  const char* tsan;  // the same for the thread sanitizer
};

void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

constexpr const char* kRace = "WARNING: ThreadSanitizer: data race";

const Mistake kMistakes[] = {
    {"oob_dynamic", "SSSSS", "", "use-after-poison", "S"},
    {"oob_static", "SSSSS", "", "use-after-poison", "S"},
    {"oob_static_index", "SSSSS", "", "index 32 out of bounds", "S"},
    {"oob_global", "SSSSS", "", "heap-buffer-overflow", "S"},
    {"oob_local", "SSSSS", "", "stack-buffer-overflow", kRace},
    {"oob_cp_async", "SSSSS", "", "heap-buffer-overflow", "S"},
    {"exit_early", "DDDDD",
     "the thread returned while 16 threads of the block wait in __syncthreads at mistakes.cu:55\n"
     "  kernel octavo::simt::mistakes::(anonymous namespace)::exit_early(float*), launched at "
     "mistakes.cu:",
     "D", "D"},
    {"two_barriers", "DDDDD",
     "threads of one block wait at two different barriers: 32 of them in __syncthreads at "
     "mistakes.cu:61, "
     "this one in __syncthreads at mistakes.cu:63",
     "D", kRace},
    {"extra_barrier", "DDDDD",
     "__syncthreads at mistakes.cu:67, which 1 thread of the block will never reach: it "
     "returned",
     "D", "D"},
    {"named_count", "DDDDD",
     "barrier 1 waits for 64 threads since mistakes.cu:71, this call names 32", "D", "D"},
    {"named_alone", "DDDDD", "threads 0 to 31: waiting in named_barrier_sync at mistakes.cu:75",
     "D", "D"},
    {"shuffle_divergent", "DDDDD",
     "names lanes that have returned (0x00000001)\n  at mistakes.cu:82", "D", "D"},
    {"shuffle_two_sites", "DDDDD",
     "lane 1 does __shfl_xor_sync with mask 0xffffffff at mistakes.cu:88, while lane 0 of that "
     "mask waits in "
     "__shfl_xor_sync with mask 0xffffffff at mistakes.cu:90",
     "D", "D"},
    {"shuffle_not_in_mask", "DDDDD", "the calling lane 0 is not in its own mask 0xffff0000", "D",
     "D"},
    {"shuffle_bad_source", "DDDDD", "lane 0 reads lane 20, which is not among the lanes 0x0000ffff",
     "D", "D"},
    {"shuffle_width", "DDDDD", "width is 12, must be 1, 2, 4, 8, 16 or 32\n  at mistakes.cu:104",
     "D", "D"},
    {"no_barrier_right", "WWWWW", "", "W", kRace},
    {"no_barrier_left", "SWWWW", "", "S", kRace},
    {"no_barrier_before_rewrite", "WWWWW", "", "W", kRace},
    {"no_syncwarp", "WWWWW", "", "W", kRace},
    {"shuffle_as_fence", "SSSSS", "", "S", kRace},
    {"race_in_block", "SSSSS", "", "S", kRace},
    {"race_between_blocks", "SSSSS", "", "S", kRace},
    {"no_threadfence", "SSSSS", "", "S", kRace},
    {"threadfence_right", "SSSSS", "", "S", "S"},
    {"spin_right", "SSSSS", "", "S", "S"},
    {"unwritten", "WWWWW", "", "W", "W"},
    {"async_no_wait", "WWWWW", "", "W", "W"},
    {"async_wait_after_barrier", "WWWWW", "", "W", kRace},
    {"async_leak", "DDDDD", "returned with 1 cp.async copies that it did not wait for", "D", "D"},
    {"async_to_global", "DDDDD", "the destination is not in shared memory\n  at mistakes.cu:203",
     "D", "D"},
    {"misaligned", "SSSSS", "", "misaligned address", "S"},
    {"misaligned_load16", "DDDDD", "must be a multiple of 16 bytes\n  at mistakes.cu:213", "D",
     "D"},
    {"int_overflow", "SSSSS", "", "signed integer overflow", "S"},
    {"stack_overflow", "CCCCC", "", "stack-overflow", "C"},
    {"throws", "DDDDD", "the kernel threw an exception: boom", "D", "D"},
};

struct Outcome {
  char letter;  // as in Mistake::plain
  std::string text;
};

Outcome run(const std::string& program, const std::string& variables, const std::string& name) {
  Outcome outcome{'C', programs::output_of(program, name, variables)};
  for (const auto& [word, letter] :
       {std::pair{"DETECTED", 'D'}, {"WRONG\n", 'W'}, {"SILENT\n", 'S'}}) {
    if (outcome.text.find(word) != std::string::npos) outcome.letter = letter;
  }
  return outcome;
}

// A refusal is worth more than a wrong result, and that more than silence. A crash is only equal to
// itself.
void expect_at_least(char want, const Outcome& got, const std::string& where) {
  constexpr std::string_view kOrder = "SWD";
  if (want == got.letter) return;
  const std::size_t w = kOrder.find(want), g = kOrder.find(got.letter);
  EXPECT_TRUE(want == 'C' ? got.letter == 'D' : w != kOrder.npos && g != kOrder.npos && g > w)
      << where << ": want " << want << ", got " << got.letter << "\n"
      << got.text;
}

// A single letter is a verdict; anything longer is part of a report.
void expect_report(const char* want, const Outcome& got, const std::string& where) {
  if (std::string_view(want).size() > 1) {
    EXPECT_THAT(got.text, HasSubstr(want)) << where;
    return;
  }
  expect_at_least(*want, got, where);
  EXPECT_EQ(got.text.find("WARNING: ThreadSanitizer"), std::string::npos) << where << got.text;
}

class Mistakes : public ::testing::TestWithParam<Mistake> {};

#if !defined(OCTAVO_SIMT_SANITIZED)
TEST_P(Mistakes, PlainBuild) {
  const Mistake& mistake = GetParam();
  for (std::size_t i = 0; i < std::size(kSchedules); ++i) {
    const Outcome outcome = run("simt_mistakes", kSchedules[i], mistake.name);
    expect_at_least(mistake.plain[i], outcome, kSchedules[i]);
    if (i == 0) {
      EXPECT_THAT(outcome.text, HasSubstr(mistake.message));
    }
  }
}

TEST_P(Mistakes, FibersOfTheCLibrary) {
  const Outcome outcome = run("simt_mistakes_ucontext", kSchedules[0], GetParam().name);
  expect_at_least(GetParam().plain[0], outcome, "ucontext");
}
#endif

#if defined(OCTAVO_SIMT_ASAN_PROGRAM)
TEST_P(Mistakes, AddressAndUndefinedSanitizers) {
  expect_report(GetParam().asan, run(OCTAVO_SIMT_ASAN_PROGRAM, kSchedules[0], GetParam().name),
                "asan");
}
#endif

#if defined(OCTAVO_SIMT_TSAN_PROGRAM)
TEST_P(Mistakes, ThreadSanitizer) {
  const Outcome outcome = run(OCTAVO_SIMT_TSAN_PROGRAM, kSchedules[0], GetParam().name);
  expect_report(GetParam().tsan, outcome, "tsan");
}

TEST(ThreadSanitizerReport, NamesTheCudaThreads) {
  const Outcome outcome = run(OCTAVO_SIMT_TSAN_PROGRAM, kSchedules[0], "no_barrier_left");
  EXPECT_THAT(outcome.text, HasSubstr("block (0,0,0) thread (1,0,0)"));
  EXPECT_THAT(outcome.text, HasSubstr("block (0,0,0) thread (0,0,0)"));
  EXPECT_THAT(outcome.text, HasSubstr("mistakes.cu:115"));
}
#endif

INSTANTIATE_TEST_SUITE_P(All, Mistakes, ::testing::ValuesIn(kMistakes),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(MistakesTable, ListsEveryMistakeOfTheProgram) {
  const Outcome outcome = run("simt_mistakes", kSchedules[0], "");
  std::string listed;
  for (const Mistake& mistake : kMistakes) listed += std::string(mistake.name) + "\n";
  EXPECT_EQ(outcome.text, listed);
}

}  // namespace
}  // namespace octavo::simt
