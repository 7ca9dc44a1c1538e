#include "common/bench/suite.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "common/bench/stream_timer.h"
#include "common/bench/table.h"
#include "common/device/gpu_spec.h"

namespace octavo::bench {
namespace {

constexpr double kColdBytes = 1 << 30;  // operands of all sets together
constexpr std::int64_t kMostSets = 64;  // beyond that the caches are scrubbed once a round
constexpr int kMostRounds = 4;
constexpr double kLeastSeconds = 0.1;  // timed in each repetition

// The largest difference from the topic's first version. Throws Error when it is beyond the topic's
// tolerance.
double difference_from_first(const Case& c, const Device& device, ThreadPool& pool) {
  if (c.first) return 0;
  Call ours = make_call(c, c.bind, device, 1), first = make_call(c, c.bind_first, device, 1);
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
    sets.push_back(make_call(c, c.bind, device, static_cast<std::uint64_t>(i + 1)));
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

}  // namespace octavo::bench
