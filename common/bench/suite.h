#pragma once
// Glue between the topics of a chapter and Google Benchmark. A chapter's bench.cpp is
//
//   int main(int argc, char** argv) {
//     octavo::bench::Suite suite("ch01");
//     suite.add(octavo::ffn_topic(), registry(), {{.T = 1, .D = 4096, .F = 14336}});
//     return suite.main(argc, argv);
//   }
//
// Every version of the registry that takes a shape gets a row. The host's and a GPU's are timed;
// the executor's are counted (a CPU's time for a GPU's kernel means nothing), by the program
// chNN_counts that is made of the same main (common/bench/profile_rows.h), and give the rows their
// modelled times. The host's get one row on one thread and one on all. Nothing wrong is timed: a
// version is first compared with the topic's first version on the same operands.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/bench/case.h"
#include "common/device/registry.h"

namespace octavo::bench {

class Suite {
 public:
  // `probe_bytes`: what the ceilings are measured on and the caches are scrubbed with.
  explicit Suite(std::string chapter, std::int64_t probe_bytes = CeilingProbe::kBytes)
      : chapter_(std::move(chapter)), probe_bytes_(probe_bytes) {}

  template <class Shape, class Args>
  void add(const testing::Topic<Shape, Args>& topic, std::shared_ptr<const Registry> registry,
           const std::vector<Shape>& shapes);
  // A row that no topic has, such as a whole model's.
  void add(Case c) { cases_.push_back(std::move(c)); }

  // Runs what --benchmark_filter selects, prints the table and writes JSON with --out FILE, or with
  // --save to docs/results/<machine>/<chapter>.json in the source tree. Returns 0; 1 when a row
  // failed; 2 for bad arguments. Google Benchmark's own flags apply; the defaults are 5 repetitions
  // of at least 0.1 s. In the counting program it prints what the selected kernels do to memory,
  // line by line, or with --json their counts.
  int main(int argc, char** argv);

  const std::vector<Case>& cases() const { return cases_; }

 private:
  std::string chapter_;
  std::int64_t probe_bytes_;
  std::vector<Case> cases_;
};

// The device that launch choices are made for: the GPU, an H100 where there is none; the executor's
// own.
Device device_for_choices(Backend backend);

// Runs cases as Google Benchmark's registered benchmarks and returns their rows, judged: the host's
// on one thread and on all of `pool`. `probe` is sampled before each.
std::vector<Row> run_cases(const std::vector<Case>& cases, CeilingProbe& probe, ThreadPool& pool);

template <class Shape, class Args>
void Suite::add(const testing::Topic<Shape, Args>& topic, std::shared_ptr<const Registry> registry,
                const std::vector<Shape>& shapes) {
  const std::span<const Version<Args>> versions = registry->versions<Args>(topic.name);
  const auto binder = [=](const Shape& shape, const Version<Args>& v) {
    return [=, version = &v](const testing::OperandSettings& settings) {
      (void)registry;  // keeps the versions alive
      Call call;
      call.operands = std::make_unique<testing::Operands>(settings);
      const Args args = topic.make(shape, *call.operands);
      auto prepared = std::make_shared<Prepared>();
      if (version->prepare) *prepared = version->prepare(call.operands->weights(), settings.device);
      call.run = [=](Exec& exec) { version->run(exec, args, *prepared); };
      if (version->workspace) call.workspace_bytes = version->workspace(args, settings.device);
      return call;
    };
  };
  for (const Shape& shape : shapes) {
    for (DType compute : {DType::kF32, DType::kF16, DType::kBF16}) {
      const auto args = [=] { return testing::args_of_shape(topic, shape, compute); };
      for (const Version<Args>& v : versions) {
        if (!v.dtypes.contains(compute)) continue;
        const auto first =
            std::find_if(versions.begin(), versions.end(), [&](const Version<Args>& u) {
              return u.backend == v.backend && u.dtypes.contains(compute);
            });
        Case c;
        c.row.topic = topic.name;
        c.row.version = v.name;
        c.row.shape = topic.describe(shape);
        c.row.backend = v.backend;
        c.row.compute = compute;
        c.row.work = topic.work(shape, compute);
        c.tolerance = topic.tolerance(shape, compute);
        c.first = &*first == &v;
        c.supported = [=, version = &v](const Device& d) {
          return version->takes(args(), d, compute);
        };
        c.bind = binder(shape, v);
        c.bind_first = binder(shape, *first);
        cases_.push_back(std::move(c));
      }
    }
  }
}

}  // namespace octavo::bench
