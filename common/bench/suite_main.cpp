#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "common/base/counted.h"
#include "common/base/error.h"
#include "common/base/output_file.h"
#include "common/bench/context.h"
#include "common/bench/profile_rows.h"
#include "common/bench/suite.h"
#include "common/bench/table.h"

namespace octavo::bench {
namespace {

void write(const std::string& path, const nlohmann::json& json) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder);
  write_file(path, json.dump(1) + '\n');
}

struct Arguments {
  std::string out;    // file for the rows; empty: none
  bool json = false;  // of the profile program
  bool save = false;  // --save: the rows are kept as the machine's result
};

// What is ours is taken out, the rest is Google Benchmark's; its flags stay set. Throws Error for
// what neither knows.
Arguments parse(int argc, char** argv, const std::string& chapter, bool profiles) {
  Arguments a;
  std::vector<std::string> words = {argv[0], "--benchmark_repetitions=5",
                                    "--benchmark_min_time=0.1"};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (profiles && word == "--json") {
      a.json = true;
    } else if (!profiles && word == "--save") {
      a.save = true;
      a.out = fmt::format("{}/docs/results/{}/{}.json", OCTAVO_SOURCE_DIR, machine_name(), chapter);
    } else if (!profiles && word == "--out" && i + 1 < argc) {
      a.out = argv[++i];
    } else {
      words.push_back(word);
    }
  }
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  require(count == 1, "{} is no argument of this program", count == 1 ? "" : pointers[1]);
  return a;
}

// Throws Error for a filter that selects no row, and for one of which --save would keep a part.
void check_filter(const std::vector<Case>& cases, const std::string& filter, bool save) {
  const auto selected = std::ranges::count_if(
      cases, [&](const Case& c) { return filter_selects(filter, c.row.name()); });
  require(selected > 0, "--benchmark_filter is '{}', which selects none of the {}", filter,
          counted(cases.size(), "row"));
  require(!save || selected == std::ssize(cases),
          "--save keeps all {}, --benchmark_filter '{}' selects {}; --out FILE keeps a part",
          counted(cases.size(), "row"), filter, selected);
}

int time_rows(const std::vector<Case>& cases, std::int64_t probe_bytes, const std::string& out) {
  const std::string filter = benchmark::GetBenchmarkFilter();
  const bool kernels =
      std::any_of(cases.begin(), cases.end(), [](const Case& c) { return c.row.is_kernel(); });
  const CountsByRow counts = kernels ? counts_from_program(filter) : CountsByRow();
  ThreadPool pool(ThreadPool::default_size());
  CeilingProbe probe(pool, probe_bytes);
  std::vector<Row> rows = run_cases(cases, probe, pool);
  attach(rows, counts);
  const Ceilings& c = probe.best();
  std::cout << table(rows)
            << fmt::format(
                   "\none thread: read {:.1f} GB/s, FMA {:.3f} TFLOP/s; {}: read {:.1f} "
                   "GB/s, copy {:.1f} GB/s, FMA {:.3f} TFLOP/s\n",
                   c.read_core / 1e9, c.fma_core / 1e12, counted(c.threads, "thread"),
                   c.read_bandwidth / 1e9, c.copy_bandwidth / 1e9, c.fma_all / 1e12);
  if (!out.empty()) write(out, {{"context", context(c)}, {"benchmarks", to_json(rows)}});
  const bool failed =
      std::any_of(rows.begin(), rows.end(), [](const Row& r) { return !r.error.empty(); });
  return failed ? 1 : 0;
}

}  // namespace

int Suite::main(int argc, char** argv) {
  try {
    const ProfileCall profile = linked_profiler();
    const Arguments a = parse(argc, argv, chapter_, profile != nullptr);
    check_filter(cases_, benchmark::GetBenchmarkFilter(), a.save);
    if (profile == nullptr) return time_rows(cases_, probe_bytes_, a.out);
    return profile_rows(cases_, benchmark::GetBenchmarkFilter(), a.json, profile);
  } catch (const Error& e) {
    fmt::print(stderr, "{}: {}\n", argv[0], e.what());
    return 2;
  }
}

}  // namespace octavo::bench
