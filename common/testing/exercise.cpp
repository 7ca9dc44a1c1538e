#include "common/testing/exercise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <regex>

#include "common/base/counted.h"
#include "common/testing/watch.h"

namespace octavo::testing {
namespace {

// Complaints are "circumstance: operand: what" with parts left out; contract.cpp and operands.cpp
// make them.
struct Phrase {
  const char* pattern;
  const char* words;  // std::regex's replacement: $1 is the first group
};

constexpr Phrase kCircumstances[] = {
    {"^second run: ", "In a second run on the same input: "},
    {"^with (\\S+) in (\\w+): ", "With $1 put into $2: "},
    {"^rows (\\d+) to \\1 alone: ", "With row $1 of the batch alone: "},
    {"^rows (\\d+) to (\\d+) alone: ", "With rows $1 to $2 of the batch alone: "},
    {"^schedule (\\w+) (\\d+): ", "With the threads in another order (schedule $1, seed $2): "},
    {"^on ([\\w-]+): ", "A device would refuse the launch ($1): "},
};

constexpr Phrase kFaults[] = {
    {"^threw: (simt: )?", "the run was stopped: "},
    {"^(\\w+): element (\\d+): got -?nan, want (.*)$",
     "element $2 of $1 is NaN and should be $3. Outputs and shared memory start as NaN: either no "
     "thread wrote it, or it was made of shared memory that was read too early."},
    {"^(\\w+): element (\\d+): got (.*), want (.*)$", "element $2 of $1 is $3 and should be $4."},
    {"^(\\w+): 1 of 1 element beyond .*; worst element 0: got (.*), want ([^;]*);.*$",
     "the one element of $1 is $2 and should be $3."},
    {"^(\\w+): 1 of (\\d+) elements beyond .*; worst element (\\d+): got (.*), want ([^;]*);.*$",
     "1 of the $2 elements of $1 is wrong: element $3 is $4 and should be $5."},
    {"^(\\w+): (\\d+) of (\\d+) elements beyond .*; worst element (\\d+): got (.*), want ([^;]*);"
     ".*$",
     "$2 of the $3 elements of $1 are wrong. The worst is element $4: it is $5 and should be $6."},
    {"^(\\w+): the memory (\\d+ bytes?) before it was written$",
     "something was written outside of $1, $2 before its start."},
    {"^(\\w+): the memory (\\d+ bytes?) past its end was written$",
     "something was written outside of $1, $2 past its end."},
    {"^(\\w+): an input was written$", "the input $1 was written."},
    {"^(\\w+): other bits than in the first run$",
     "$1 has other bits than before. Something is read before it is written, or two threads meet "
     "at one place with no barrier between them."},
    {"^(\\w+): other bits than in the batch$",
     "$1 has other bits than among its neighbours. The order of a row's sum must not depend on the "
     "batch."},
};

std::string indented(const std::string& text) {
  return "  " + std::regex_replace(text, std::regex("\n"), "\n  ") + "\n";
}

// "T:1/N:1/K:1 in F32" of a subject's label "simt/matmul/exercise/F32/T:1/N:1/K:1".
std::string name_in_words(const Subject& subject) {
  std::string shape = subject.label;
  for (int i = 0; i < 4; ++i) shape.erase(0, shape.find('/') + 1);
  return fmt::format("{} in {}", shape, name_of(subject.compute));
}

}  // namespace

std::string in_words(const std::string& complaint) {
  std::string rest = complaint, where;
  for (const Phrase& p : kCircumstances) {
    std::smatch match;
    if (!std::regex_search(rest, match, std::regex(p.pattern))) continue;
    where = match.format(p.words);
    rest = match.suffix();
    break;
  }
  for (const Phrase& p : kFaults) {
    const std::regex pattern(p.pattern);
    if (!std::regex_search(rest, pattern)) continue;
    rest = std::regex_replace(rest, pattern, p.words);
    break;
  }
  std::string sentence = where + rest;
  if (!sentence.empty() && where.empty()) {
    sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
  }
  return sentence;
}

namespace {

// What is wrong with a subject, as lines.
std::string faults(const Subject& subject, const std::vector<std::string>& found) {
  constexpr std::size_t kShown = 3;  // complaints: the first ones say most
  std::string lines;
  for (std::size_t i = 0; i < std::min(kShown, found.size()); ++i) {
    lines += indented(in_words(found[i]));
  }
  if (found.size() > kShown) {
    lines += fmt::format("  And {} more like these.\n", found.size() - kShown);
  }
  const std::vector<std::string> orders = order_shows(subject, device_of(subject.backend));
  if (orders.empty()) return lines;
  lines += "  There is a race: the result depends on the order in which threads run.\n";
  const bool said = std::ranges::find(found, orders.front()) != found.end();
  return said ? lines : lines + indented(in_words(orders.front()));
}

}  // namespace

Verdict judge(const Exercise& exercise, const std::function<void(const std::string&)>& begins) {
  std::string lines, first;
  std::size_t wrong = 0, width = 26;
  for (const Subject& subject : exercise.subjects)
    width = std::max(width, name_in_words(subject).size());
  for (const Subject& subject : exercise.subjects) {
    const std::string name = name_in_words(subject);
    begins(name);
    const std::vector<std::string> found = breaches(subject, device_of(subject.backend));
    lines += fmt::format("  {:<{}}  {}\n", name, width, found.empty() ? "right" : "wrong");
    if (found.empty()) continue;
    if (wrong++ > 0) continue;
    first = fmt::format("The first that is wrong is {}.\n{}", name, faults(subject, found));
  }
  if (wrong > 0) {
    return {false, fmt::format("{}\nNot yet: {} of {} {} wrong.\n{}", lines, wrong,
                               counted(exercise.subjects.size(), "shape"),
                               wrong == 1 ? "is" : "are", first)};
  }
  Verdict more{.right = true};
  if (exercise.more) {
    begins("what the values do not show");
    more = exercise.more();
  }
  const char* const words = more.right ? "Right." : "Not yet: the values are right, but";
  return {more.right, more.text.empty() ? fmt::format("{}\n{}\n", lines, words)
                                        : fmt::format("{}\n{} {}", lines, words, more.text)};
}

int run_exercise(std::string_view file, const std::function<Exercise()>& make) {
  fmt::print("{}, on the executor\n\n", file);
  std::fflush(stdout);
  try {
    const Exercise exercise = make();
    Watch watch(exercise.seconds);
    const Verdict verdict =
        judge(exercise, [&watch](const std::string& part) { watch.begins(part); });
    fmt::print("{}", verdict.text);
    return verdict.right ? 0 : 1;
  } catch (const std::exception& e) {
    fmt::print("Not yet: the run was stopped: {}\n", e.what());
    return 1;
  }
}

}  // namespace octavo::testing
