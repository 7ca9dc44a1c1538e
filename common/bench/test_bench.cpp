#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/base/error.h"
#include "common/bench/context.h"
#include "common/bench/row.h"
#include "common/bench/stream_timer.h"
#include "common/bench/table.h"

namespace octavo::bench {
namespace {

using ::testing::HasSubstr;

Ceilings hundred() {  // 100 GB/s and 1 TFLOP/s; one thread half and a quarter of them
  Ceilings c;
  c.read_core = 50e9;
  c.read_bandwidth = 100e9;
  c.fma_core = 0.25e12;
  c.fma_all = 1e12;
  return c;
}

Row row(std::string version, Backend backend, std::vector<double> seconds) {
  Row r;
  r.topic = "ffn";
  r.version = std::move(version);
  r.shape = "T:1/D:64";
  r.backend = backend;
  r.compute = DType::kBF16;
  r.work = {.flops = 2e9, .bytes = 1e9};
  r.seconds = std::move(seconds);
  return r;
}

TEST(Ceilings, ARoofIsTheSlowerOfMemoryAndArithmetic) {
  EXPECT_DOUBLE_EQ(hundred().seconds({.flops = 1e9, .bytes = 1e9}, false), 0.01);
  EXPECT_DOUBLE_EQ(hundred().seconds({.flops = 1e12, .bytes = 1e9}, false), 1.0);
  EXPECT_DOUBLE_EQ(hundred().seconds({.flops = 1e9, .bytes = 1e9}, true), 0.02);
  EXPECT_DOUBLE_EQ(hundred().seconds({.flops = 1e12, .bytes = 1e9}, true), 4.0);
}

TEST(Ceilings, AProbeMeasuresAndKeepsTheBest) {
  ThreadPool pool(2);
  CeilingProbe probe(pool, std::int64_t{1} << 22);
  probe.sample();
  const Ceilings first = probe.best();
  probe.sample();
  const Ceilings c = probe.best();
  EXPECT_EQ(c.samples, 2);
  EXPECT_EQ(c.threads, 2);
  EXPECT_GE(c.read_bandwidth, first.read_bandwidth);
  for (double rate : {c.read_core, c.read_bandwidth, c.copy_bandwidth, c.fma_core, c.fma_all})
    EXPECT_GT(rate, 1e7);
  EXPECT_LT(c.fma_core, 1e12);
}

TEST(Row, MedianAndSpread) {
  EXPECT_DOUBLE_EQ(row("v", Backend::kCpu, {3, 1, 2}).median(), 2);
  EXPECT_DOUBLE_EQ(row("v", Backend::kCpu, {4, 1, 2, 3}).median(), 2.5);
  EXPECT_DOUBLE_EQ(row("v", Backend::kCpu, {1, 3}).cv(), std::sqrt(2.0) / 2);
  EXPECT_DOUBLE_EQ(row("v", Backend::kCpu, {1}).cv(), 0);
  EXPECT_EQ(row("gpu_v2", Backend::kCuda, {}).name(), "ffn/gpu_v2/bf16/T:1/D:64");
}

TEST(Judge, FillsRoofAndSpeedUpAndRefusesTheImpossible) {
  std::vector<Row> rows = {
      row("cpu_v1", Backend::kCpu, {0.1}), row("cpu_v2", Backend::kCpu, {0.0125}),
      row("cpu_v3", Backend::kCpu, {0.00905}), row("cpu_v4", Backend::kCpu, {0.0092}),
      row("gpu_v1", Backend::kSimt, {})};
  judge(rows, hundred());
  EXPECT_DOUBLE_EQ(rows[1].roof_percent(), 80);
  EXPECT_DOUBLE_EQ(rows[1].times_v1(), 8);
  EXPECT_EQ(rows[1].error, "");
  EXPECT_THAT(rows[2].error, HasSubstr("110 % of the roof, the limit is 110"));
  EXPECT_EQ(rows[3].error, "");
  EXPECT_EQ(rows[4].error, "");
}

TEST(Judge, ARowOfOneThreadHasItsOwnRoofAndBaseline) {
  std::vector<Row> rows = {row("v1", Backend::kCpu, {0.1}), row("v1", Backend::kCpu, {0.04}),
                           row("v2", Backend::kCpu, {0.02})};
  rows[0].threads = 2;
  rows[1].threads = rows[2].threads = 1;
  judge(rows, hundred());
  EXPECT_DOUBLE_EQ(rows[0].roof_percent(), 10);
  EXPECT_DOUBLE_EQ(rows[2].roof_percent(), 100);
  EXPECT_DOUBLE_EQ(rows[2].times_v1(), 2);
  EXPECT_EQ(rows[0].name(), "ffn/v1/bf16/T:1/D:64/threads:2");
  EXPECT_EQ(to_json(rows)[1]["threads"], 1);
  EXPECT_THAT(table(rows), AllOf(HasSubstr("v1, 2 threads"), HasSubstr("v2, 1 thread ")));
}

TEST(Judge, RowsOfOtherOperationsAreNoBaseline) {
  std::vector<Row> rows = {row("v1", Backend::kCpu, {1}), row("v1", Backend::kCuda, {0.5})};
  judge(rows, hundred());
  EXPECT_DOUBLE_EQ(rows[1].times_v1(), 1);
}

TEST(Table, ShowsMeasuredModelledAndMissing) {
  std::vector<Row> rows = {row("cpu_v1", Backend::kCpu, {0.02}), row("gpu_v1", Backend::kSimt, {}),
                           row("gpu_v1", Backend::kCuda, {0.001}),
                           row("gpu_v2", Backend::kSimt, {})};
  rows[0].max_error = 0;
  rows[2].max_error = 1e-3;
  rows[1].counts = rows[2].counts = KernelCounts{.bytes = 4e9, .launches = 1};
  judge(rows, hundred());
  const std::string text = table(rows);
  EXPECT_THAT(text,
              HasSubstr("ffn BF16 T:1/D:64   2 GFLOP, 1e+03 MB, 2 FLOP/B; at best A100 490 us "
                        "H100 299 us H200 208 us\n"));
  EXPECT_THAT(text, HasSubstr("A100 model"));
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 7u) << text;
  EXPECT_THAT(lines[2], AllOf(HasSubstr("cpu_v1"), HasSubstr("20 ms"), HasSubstr("50.00"),
                              HasSubstr(" 50 ")));
  EXPECT_THAT(lines[3], AllOf(HasSubstr("gpu_v1"), HasSubstr("1 ms"), HasSubstr(" 1.96 ms"),
                              HasSubstr(" 833 us"), HasSubstr("0.001")));
  EXPECT_THAT(lines[4],
              AllOf(HasSubstr("gpu_v2"), HasSubstr("not measured"), HasSubstr("not modelled")));
  EXPECT_EQ(lines[6], kModelNote);
}

TEST(Table, AFailedRowSaysWhy) {
  std::vector<Row> rows = {row("cpu_v1", Backend::kCpu, {})};
  rows[0].error = "differs from v1";
  EXPECT_THAT(table(rows), AllOf(HasSubstr("not measured"), HasSubstr("FAILED: differs from v1")));
}

TEST(Json, HasGoogleBenchmarksFieldsAndOurs) {
  std::vector<Row> rows = {row("cpu_v1", Backend::kCpu, {0.02, 0.02}),
                           row("gpu_v1", Backend::kSimt, {})};
  attach(rows, {{rows[0].name(), {}}, {rows[1].name(), {.bytes = 1, .launches = 1000}}});
  judge(rows, hundred());
  const nlohmann::json json = to_json(rows);
  EXPECT_EQ(json[0]["name"], "ffn/cpu_v1/bf16/T:1/D:64");
  EXPECT_DOUBLE_EQ(json[0]["real_time"], 2e7);
  EXPECT_EQ(json[0]["time_unit"], "ns");
  EXPECT_DOUBLE_EQ(json[0]["roof%"], 50);
  EXPECT_DOUBLE_EQ(json[0]["x_v1"], 1);
  EXPECT_FALSE(json[0].contains("model_ns"));
  EXPECT_FALSE(json[1].contains("real_time"));
  EXPECT_EQ(json[1]["counts"]["launches"], 1000);
  EXPECT_DOUBLE_EQ(json[1]["model_ns"]["A100"], 3e6);
}

TEST(Model, IsTheLargestOfMemoryTensorCoresOtherArithmeticAndLaunches) {
  const Work work = {.flops = 3e12, .bytes = 1};
  const KernelCounts c = {.bytes = 2039e9, .mma_flops = 2e12, .launches = 7};
  EXPECT_DOUBLE_EQ(model_seconds(kA100, work, c), 1);
  EXPECT_DOUBLE_EQ(model_seconds(kA100, work, {.mma_flops = 3e12}), 3e12 / 312e12);
  EXPECT_DOUBLE_EQ(model_seconds(kA100, work, {.mma_flops = 2e12}), 1e12 / 19.5e12);
  EXPECT_DOUBLE_EQ(model_seconds(kA100, work, {.mma_flops = 5e12}), 5e12 / 312e12);
  EXPECT_DOUBLE_EQ(model_seconds(kA100, {}, {.launches = 7}), 21e-6);
}

TEST(KernelCounts, SurviveJson) {
  const CountsByRow rows = {
      {"ffn/gpu_v1/bf16/T:1", {.bytes = 480, .mma_flops = 4096, .launches = 3}},
      {"ffn/gpu_v2/bf16/T:1", {}}};
  EXPECT_EQ(counts_from_json(to_json(rows).dump()), rows);
  for (const char* text : {"", "{", "[1]", R"({"a": {"bytes": 1}})", R"({"a": {"bytes": "x"}})"})
    EXPECT_THROW(counts_from_json(text), Error) << text;
}

TEST(Context, SaysOnWhatAndFromWhat) {
  const nlohmann::json c = context(hundred());
  for (const char* key :
       {"date", "machine", "cpu", "cpu_flags", "compiler", "march", "vectors", "git_sha", "gpus"}) {
    EXPECT_TRUE(c.contains(key)) << key;
  }
  EXPECT_DOUBLE_EQ(c["ceilings"]["read_GB/s"], 100);
  EXPECT_THAT(machine_name(), ::testing::MatchesRegex(
                                  "[a-z0-9]+(-[a-z0-9]+)*-(portable|avx2|avx512)-[0-9]+-threads"));
  ASSERT_EQ(setenv("OCTAVO_MACHINE", "desk", 1), 0);
  EXPECT_EQ(machine_name(), "desk");
  ASSERT_EQ(unsetenv("OCTAVO_MACHINE"), 0);
}

TEST(FormatTime, PicksTheUnit) {
  EXPECT_EQ(format_time(812e-9), "812 ns");
  EXPECT_EQ(format_time(14.2e-6), "14.2 us");
  EXPECT_EQ(format_time(3.05e-3), "3.05 ms");
  EXPECT_EQ(format_time(12), "12 s");
  EXPECT_EQ(format_time(999.7e-6), "1 ms");  // not 1e+03 us
  EXPECT_EQ(format_time(999), "999 s");
  EXPECT_EQ(format_time(1320), "22 min");
  EXPECT_EQ(format_time(72e3), "20 h");
}

TEST(StreamTimer, MeasuresTheHost) {
  Stream stream(cpu_device());
  StreamTimer timer(cpu_device());
  timer.start(stream);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const double seconds = timer.stop(stream);
  EXPECT_GE(seconds, 0.005);
  EXPECT_LT(seconds, 5);
}

}  // namespace
}  // namespace octavo::bench
