#include "common/bench/suite.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "common/bench/context.h"
#include "common/bench/stream_timer.h"
#include "common/bench/table.h"
#include "common/device/gpu_spec.h"

namespace octavo::bench {
namespace {

using testing::OperandSettings;

constexpr double kColdBytes = 1 << 30;  // operands of all sets together
constexpr std::int64_t kMostSets = 64;  // beyond that the caches are scrubbed once a round
constexpr int kMostRounds = 4;
constexpr double kLeastSeconds = 0.1;  // timed in each repetition
constexpr std::int64_t kRepeat =
    1 << 16;  // random values repeat with this period: enough to be no pattern

OperandSettings settings_of(const Case& c, const Device& device, std::uint64_t seed) {
  OperandSettings s;
  s.device = device;
  s.compute = c.row.compute;
  s.seed = seed;
  s.guarded = false;
  s.repeat = kRepeat;
  return s;
}

Call make_call(const std::function<Call(const OperandSettings&)>& binder,
               const OperandSettings& settings) {
  Call call = binder(settings);
  call.operands->forget_values();
  return call;
}

void run_once(Call& call, const Device& device, DType compute, ThreadPool& pool) {
  Exec exec(device, compute, pool, call.workspace_bytes);
  call.run(exec);
  exec.stream.synchronize();
}

// The largest difference from the topic's first version. Throws Error when it is beyond the topic's
// tolerance.
double difference_from_first(const Case& c, const Device& device, ThreadPool& pool) {
  if (c.first) return 0;
  Call ours = make_call(c.bind, settings_of(c, device, 1)),
       first = make_call(c.bind_first, settings_of(c, device, 1));
  run_once(ours, device, c.row.compute, pool);
  run_once(first, device, c.row.compute, pool);
  double worst = 0;
  for (const std::string& name : ours.operands->outputs()) {
    const std::vector<double> g = ours.operands->result(name), w = first.operands->result(name);
    const std::vector<float> got(g.begin(), g.end()), want(w.begin(), w.end());
    const testing::Comparison r = testing::compare(
        got.data(), want.data(), static_cast<std::int64_t>(got.size()), c.tolerance);
    require(r.ok, "differs from v1 in {}: {}", name, r.message);
    worst = std::max(worst, r.max_error);
  }
  return worst;
}

// Enough sets of operands that a call finds none of its own in a cache.
std::vector<Call> cold_sets(const Case& c, const Device& device) {
  const double bytes = std::max(1.0, c.row.work.bytes);
  const std::int64_t n =
      std::clamp(static_cast<std::int64_t>(std::ceil(kColdBytes / bytes)), INT64_C(1), kMostSets);
  std::vector<Call> sets;
  for (std::int64_t i = 0; i < n; ++i) {
    sets.push_back(make_call(c.bind, settings_of(c, device, static_cast<std::uint64_t>(i + 1))));
  }
  return sets;
}

// The body of one registered benchmark. It makes its operands in the first call and keeps them
// until `release`.
class Runner {
 public:
  Runner(const Case& c, CeilingProbe& probe, ThreadPool& pool, Row& row)
      : case_(c), probe_(probe), pool_(pool), row_(row), device_(device_of(c.row.backend)) {}

  void body(benchmark::State& state) {
    try {
      if (sets_.empty()) {
        row_.max_error = difference_from_first(case_, device_, pool_);
        sets_ = cold_sets(case_, device_);
      }
      time(state);
    } catch (const std::exception& e) {
      row_.error = e.what();
      state.SkipWithError(e.what());
    }
  }

  // All repetitions are done: says one line and frees the operands.
  void finish() {
    fmt::print(stderr, "{} [{}]: {}\n", row_.name(), name_of(row_.backend),
               row_.measured() ? format_time(row_.median()) : row_.error);
    sets_.clear();
  }

 private:
  void time(benchmark::State& state) {
    Exec exec(device_, case_.row.compute, pool_, sets_[0].workspace_bytes);
    probe_.sample();
    for (auto _ : state) {
      const double seconds = mean_of_calls(exec);
      state.SetIterationTime(seconds);
      row_.seconds.push_back(seconds);
    }
  }

  // Calls on one set of operands after the other until kLeastSeconds have been timed, or
  // kMostRounds of all sets where each round costs a pass over the caches.
  double mean_of_calls(Exec& exec) {
    StreamTimer timer(device_);
    const bool processor_time = row_.threads == 1;
    const bool scrubs = case_.row.work.bytes * static_cast<double>(sets_.size()) < kColdBytes;
    double total = 0;
    std::int64_t calls = 0;
    for (int round = 0; total < kLeastSeconds && !(scrubs && round == kMostRounds); ++round) {
      if (scrubs) probe_.scrub();
      for (std::size_t i = 0; i < sets_.size() && total < kLeastSeconds; ++i, ++calls) {
        timer.start(exec.stream);
        const double begin = thread_seconds();
        sets_[i].run(exec);
        const double by_the_clock = timer.stop(exec.stream);
        total += processor_time ? thread_seconds() - begin : by_the_clock;
      }
    }
    row_.calls += calls;
    return total / static_cast<double>(calls);
  }

  const Case& case_;
  CeilingProbe& probe_;
  ThreadPool& pool_;
  Row& row_;
  Device device_;
  std::vector<Call> sets_;
};

// Google Benchmark hands a finished benchmark's repetitions to this.
class Reporter : public benchmark::BenchmarkReporter {
 public:
  std::map<std::string, std::shared_ptr<Runner>> runners;

  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    const bool aggregates = runs.empty() || runs[0].run_type == Run::RT_Aggregate;
    if (!aggregates) runners.at(runs[0].run_name.function_name)->finish();
  }
};

bool is_timed(const Case& c) {
  if (c.row.backend == Backend::kSimt) return false;
  if (c.row.backend == Backend::kCuda && cuda_devices().empty()) return false;
  return c.supported(device_of(c.row.backend));
}

// Whether the case has a row at all: a kernel's stands for a GPU that may not be here.
bool has_row(const Case& c) {
  return c.row.backend == Backend::kCpu ? c.supported(cpu_device())
                                        : c.supported(device_for_choices(c.row.backend));
}

void write(const std::string& path, const nlohmann::json& json) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder);
  std::ofstream file(path);
  file << json.dump(1) << '\n';
  require(file.good(), "{} cannot be written", path);
}

}  // namespace

Device device_for_choices(Backend backend) {
  if (backend == Backend::kSimt) return simt_device();
  const std::vector<Device> gpus = cuda_devices();
  return gpus.empty() ? kH100.device() : gpus.front();
}

std::vector<Row> run_cases(const std::vector<Case>& cases, CeilingProbe& probe, ThreadPool& pool) {
  std::vector<Row> rows;
  rows.reserve(2 * cases.size());  // the runners hold references
  ThreadPool one(1);
  Reporter reporter;
  benchmark::ClearRegisteredBenchmarks();
  const auto add = [&](const Case& c, int threads) {
    Row& row = rows.emplace_back(c.row);
    row.threads = threads;
    if (row.backend != Backend::kCpu) row.launches = c.launches(device_for_choices(row.backend));
    if (!is_timed(c)) return;
    auto runner = std::make_shared<Runner>(c, probe, threads == 1 ? one : pool, row);
    const std::string name = row.name();
    if (!reporter.runners.emplace(name, runner).second) fail("two benchmarks are named {}", name);
    benchmark::RegisterBenchmark(name.c_str(),
                                 [runner](benchmark::State& state) { runner->body(state); })
        ->UseManualTime()
        ->Iterations(1)  // mean_of_calls decides how often, since it knows about the caches
        ->Unit(benchmark::kNanosecond);
  };
  for (const Case& c : cases) {
    if (!has_row(c)) continue;
    const bool host = c.row.backend == Backend::kCpu;
    add(c, host ? 1 : 0);
    if (host && pool.size() > 1) add(c, pool.size());
  }
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::ClearRegisteredBenchmarks();
  judge(rows, probe.best());
  return rows;
}

int Suite::main(int argc, char** argv) {
  std::string out;
  std::vector<std::string> words = {argv[0], "--benchmark_repetitions=5",
                                    "--benchmark_min_time=0.1"};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--save") {
      out = fmt::format("{}/docs/results/{}/{}.json", OCTAVO_SOURCE_DIR, machine_name(), chapter_);
    } else if (word == "--out" && i + 1 < argc) {
      out = argv[++i];
    } else {
      words.push_back(word);
    }
  }
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  if (benchmark::ReportUnrecognizedArguments(count, pointers.data())) return 2;

  ThreadPool pool(ThreadPool::default_size());
  CeilingProbe probe(pool, probe_bytes_);
  const std::vector<Row> rows = run_cases(cases_, probe, pool);
  const Ceilings& c = probe.best();
  std::cout << table(rows)
            << fmt::format(
                   "\none thread: read {:.1f} GB/s, FMA {:.3f} TFLOP/s; {} threads: read {:.1f} "
                   "GB/s, copy {:.1f} GB/s, FMA {:.3f} TFLOP/s\n",
                   c.read_core / 1e9, c.fma_core / 1e12, c.threads, c.read_bandwidth / 1e9,
                   c.copy_bandwidth / 1e9, c.fma_all / 1e12);
  if (!out.empty()) write(out, {{"context", context(c)}, {"benchmarks", to_json(rows)}});
  return std::any_of(rows.begin(), rows.end(), [](const Row& r) { return !r.error.empty(); }) ? 1
                                                                                              : 0;
}

}  // namespace octavo::bench
