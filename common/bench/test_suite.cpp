#include "common/bench/suite.h"

#include <benchmark/benchmark.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/testing/example_topic.h"

namespace octavo::bench {
namespace {

using ::testing::HasSubstr;
using testing::example::Args;
using testing::example::Shape;

Version<Args> version(std::string_view name, Backend backend) {
  return {.name = name,
          .backend = backend,
          .dtypes = {DType::kF32},
          .batch_invariant = true,
          .run = testing::example::naive};
}

std::shared_ptr<Registry> registry() {
  auto r = std::make_shared<Registry>();
  r->add("matmul", version("cpu_v1_naive", Backend::kCpu));
  r->add("matmul", version("cpu_v2_same", Backend::kCpu));
  r->add("matmul", version("gpu_v1_naive", Backend::kSimt));
  return r;
}

testing::Topic<Shape, Args> topic() {
  auto t = testing::example::matmul_topic();
  t.work = [](const Shape& s, DType) {
    const double T = static_cast<double>(s.T), N = static_cast<double>(s.N),
                 K = static_cast<double>(s.K);
    return Work{.flops = 2 * T * N * K, .bytes = 4 * (T * K + N * K + T * N)};
  };
  return t;
}

std::vector<Row> rows_of(const Suite& suite, std::vector<std::string> flags = {}) {
  std::vector<std::string> words = {"test", "--benchmark_repetitions=2"};
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<char*> pointers;
  for (std::string& w : words) pointers.push_back(w.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  ThreadPool pool(2);
  CeilingProbe probe(pool, std::int64_t{1} << 22);
  return run_cases(suite.cases(), probe, pool);
}

TEST(Suite, TimesTheHostAndNotTheKernels) {
  auto t =
      topic();  // so little work that no ceiling, measured on a busy machine, makes it too much
  t.work = [](const Shape&, DType) { return Work{.flops = 1, .bytes = 1}; };
  Suite suite("test");
  suite.add(t, registry(), {{8, 16, 32}});
  const std::vector<Row> rows = rows_of(suite);
  ASSERT_EQ(rows.size(), 5u);
  for (std::size_t i : {2u, 3u}) {  // on one thread, on both
    EXPECT_EQ(rows[i].name(),
              fmt::format("matmul/cpu_v2_same/f32/T:8/N:16/K:32/threads:{}", i - 1));
    EXPECT_EQ(rows[i].seconds.size(), 2u);
    EXPECT_EQ(rows[i].max_error, 0);
    EXPECT_GT(rows[i].roof_seconds, 0);
    EXPECT_GT(rows[i].times_v1(), 0);
    EXPECT_EQ(rows[i].error, "");
  }
  EXPECT_EQ(rows[4].name(), "matmul/gpu_v1_naive/f32/T:8/N:16/K:32");
  EXPECT_FALSE(rows[4].measured());
}

TEST(Suite, AWrongVersionIsNotTimed) {
  auto r = registry();
  Version<Args> wrong = version("cpu_v3_wrong", Backend::kCpu);
  wrong.run = [](Exec& e, const Args& a, const Prepared& p) {
    testing::example::naive(e, a, p);
    a.y(0, 0) += 1;
  };
  r->add("matmul", wrong);
  Suite suite("test");
  suite.add(topic(), r, {{2, 3, 4}});
  const std::vector<Row> rows = rows_of(suite);
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_FALSE(rows[5].measured());
  EXPECT_THAT(rows[5].error, HasSubstr("differs from v1 in y: 1 of 6 elements"));
}

TEST(Suite, AWorkModelThatIsTooLargeFailsItsRows) {
  auto t = topic();
  t.work = [](const Shape&, DType) { return Work{.flops = 1e15, .bytes = 4e9}; };
  Suite suite("test");
  suite.add(t, registry(), {{2, 3, 4}});
  EXPECT_THAT(rows_of(suite)[0].error, HasSubstr("of the roof, the limit is 110"));
}

TEST(Suite, AFilterLeavesRowsUnmeasured) {
  Suite suite("test");
  suite.add(topic(), registry(), {{2, 3, 4}});
  const std::vector<Row> rows = rows_of(suite, {"--benchmark_filter=cpu_v1"});
  EXPECT_TRUE(rows[0].measured());
  EXPECT_TRUE(rows[1].measured());
  EXPECT_FALSE(rows[2].measured());
  benchmark::SetBenchmarkFilter("");
}

TEST(Suite, WritesAResultFile) {
  const std::string path =
      std::filesystem::temp_directory_path() / fmt::format("octavo_suite_test_{}.json", getpid());
  Suite suite("test", std::int64_t{1} << 22);
  suite.add(topic(), registry(), {{2, 3, 4}});
  std::vector<std::string> words = {"test", "--out", path, "--benchmark_repetitions=1"};
  std::vector<char*> pointers;
  for (std::string& w : words) pointers.push_back(w.data());
  EXPECT_EQ(suite.main(static_cast<int>(pointers.size()), pointers.data()), 0);
  std::ifstream file(path);
  const nlohmann::json json = nlohmann::json::parse(file);
  EXPECT_EQ(json["benchmarks"].size(), json["context"]["ceilings"]["threads"] > 1 ? 5u : 3u);
  EXPECT_GT(json["context"]["ceilings"]["read_GB/s"], 0.0);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace octavo::bench
