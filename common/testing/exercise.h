#pragma once
// Exercises that judge themselves: a reader's version of a topic, held to the topic's contract, and
// told in words what is wrong.
//
// A judge is a program of one exercise:
//   int main() {
//     return run_exercise("01 tiled", [] { return testing::Exercise{...}; });
//   }
// octavo_exercise (common/cmake/OctavoTargets.cmake) builds it twice, with the reader's file and
// with the solution.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/testing/contract.h"

namespace octavo::testing {

struct Verdict {
  bool right = false;
  std::string text = {};  // ends with a newline
};

struct Exercise {
  std::vector<Subject> subjects;  // of the reader's version, smallest shapes first
  // What the contract does not ask for; judged when the contract is kept. Null: nothing.
  std::function<Verdict()> more = nullptr;
  // of real time a subject may take, hundreds of times what any takes; then it has no end
  int seconds = 60;
};

// One line a subject, then what is wrong with the first that fails; of a kernel also whether the
// order of its threads shows. `begins` is told what is run next.
Verdict judge(
    const Exercise& exercise,
    const std::function<void(const std::string&)>& begins = [](const std::string&) {});

// One of the contract's complaints (contract.h) as sentences.
std::string in_words(const std::string& complaint);

// The subjects of one version.
template <class Shape, class Args>
std::vector<Subject> subjects_of(const Topic<Shape, Args>& topic, const Version<Args>& version) {
  auto registry = std::make_shared<Registry>();
  registry->add(topic.name, version);
  return subjects(topic, std::shared_ptr<const Registry>(registry));
}

// Prints the verdict of the exercise that `make` gives. Returns 0 when it is right, else 1. A crash
// and a run without end are verdicts too (watch.h); they end the program with 1.
int run_exercise(std::string_view file, const std::function<Exercise()>& make);

}  // namespace octavo::testing
