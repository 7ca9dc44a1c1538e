#include "common/bench/profile_rows.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>

#include "common/base/threads.h"

namespace octavo::bench {
namespace {

// "/path/ch01_counts" for the running "/path/ch01_bench".
std::string counting_program() {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string stem = self.stem().string();
  return self.parent_path() / (stem.substr(0, stem.rfind('_')) + "_counts");
}

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string output_of(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  require(pipe != nullptr, "{} cannot be started", command);
  std::string text;
  std::array<char, 4096> part{};
  for (std::size_t n; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    text.append(part.data(), n);
  pclose(pipe);
  require(!text.empty(), "{} printed nothing", command);
  return text;
}

}  // namespace

bool filter_selects(const std::string& filter, const std::string& name) {
  if (filter.empty() || filter == "all") return true;
  const bool negated = filter[0] == '-';
  try {
    const std::regex pattern(negated ? filter.substr(1) : filter, std::regex::extended);
    return std::regex_search(name, pattern) != negated;
  } catch (const std::regex_error& e) {
    fail("--benchmark_filter is '{}', must be a regular expression: {}", filter, e.what());
  }
}

int profile_rows(const std::vector<Case>& cases, const std::string& filter, bool json,
                 ProfileCall profile) {
  const Device device = simt_device();
  ThreadPool pool(1);
  CountsByRow counts;
  bool failed = false;
  for (const Case& c : cases) {
    const std::string name = c.row.name();
    const bool wanted = c.row.backend == Backend::kSimt && c.supported(device);
    if (!wanted || !filter_selects(filter, name)) continue;
    try {
      Call call = make_call(c, c.bind, device, 1);
      const CallProfile found = profile([&] { run_once(call, device, c.row.compute, pool); });
      counts[name] = found.counts;
      if (!json) fmt::print("{}\n\n{}", name, found.text);
    } catch (const Error& e) {
      fmt::print(stderr, "{}: {}\n", name, e.what());
      failed = true;
    }
  }
  if (json) std::cout << to_json(counts).dump() << '\n';
  return failed ? 1 : 0;
}

CountsByRow counts_from_program(const std::string& filter) {
  try {
    const std::string program = counting_program();
    require(std::filesystem::exists(program), "{} is not there", program);
    return counts_from_json(
        output_of(quoted(program) + " --json --benchmark_filter=" + quoted(filter)));
  } catch (const Error& e) {
    fmt::print(stderr, "no kernel is modelled: {}\n", e.what());
    return {};
  }
}

}  // namespace octavo::bench
