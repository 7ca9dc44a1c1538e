// examples_bench with and without examples_counts beside it: what kernels are counted as.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/bench/profile_rows.h"

namespace octavo::bench {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPrograms[] = OCTAVO_BENCH_PROGRAMS;

struct Output {
  std::string text;
  int status;
};

Output run(const std::string& command) {
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  Output output;
  std::array<char, 4096> part{};
  for (std::size_t n; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    output.text.append(part.data(), n);
  output.status = pclose(pipe) / 256;
  return output;
}

Output run_example(const std::string& program, const std::string& arguments) {
  return run(fmt::format("'{}/{}' {}", kPrograms, program, arguments));
}

CountsByRow counts(const std::string& filter) {
  return counts_from_json(
      run_example("examples_counts", "--json --benchmark_filter=" + filter).text);
}

TEST(KernelRows, SectorsOfTheWholeGridFromSomeOfItsBlocks) {
  for (const int n : {64 * 96, 2048 * 2048}) {
    const char* const shape = n == 64 * 96 ? "R:64/C:96" : "R:2048/C:2048";
    const CountsByRow c = counts(fmt::format("'gpu_v[12].*{}'", shape));
    ASSERT_EQ(c.size(), 2u);
    // Reads at 1 x ideal, and writes at 8 x or 1 x: common/simt/README.md.
    const KernelCounts naive = {.bytes = 4.0 * n * 9, .mma_flops = 0, .launches = 1},
                       tiled = {.bytes = 4.0 * n * 2, .mma_flops = 0, .launches = 1};
    EXPECT_EQ(c.at(fmt::format("transpose/gpu_v1_naive/f32/{}", shape)), naive);
    EXPECT_EQ(c.at(fmt::format("transpose/gpu_v2_tiled/f32/{}", shape)), tiled);
  }
}

TEST(KernelRows, AMatmulReadsWhatItsTilesNeedAndUsesTensorCores) {
  constexpr double kT = 128, kN = 192, kK = 256, kTile = 64;
  const CountsByRow c = counts("matmul");
  ASSERT_EQ(c.size(), 1u);
  EXPECT_EQ(c.at("matmul/gpu_v1_mma/bf16/T:128/N:192/K:256"),
            (KernelCounts{.bytes = 2 * kT * kN * kK * (2 / kTile) + 4 * kT * kN,
                          .mma_flops = 2 * kT * kN * kK,
                          .launches = 1}));
}

TEST(KernelRows, LinesOfTheSourceAreShownAndSamplingIsSaid) {
  const Output text = run_example("examples_counts", "--benchmark_filter=gpu_v1_naive.*2048");
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.text, AllOf(HasSubstr("transpose/gpu_v1_naive/f32/R:2048/C:2048\n"),
                               ContainsRegex("1 launch, 4096 blocks, 1048576 threads"),
                               ContainsRegex("scaled up from the [0-9]+ blocks that ran"),
                               ContainsRegex("transpose.cu:[0-9]+ +global +store .* 8\\.00\n")));
  EXPECT_THAT(run_example("examples_counts", "--benchmark_filter=gpu_v1_naive.*96").text,
              Not(HasSubstr("scaled up")));
}

TEST(KernelRows, AKernelThatFailsIsNamedAndTheOthersAreCounted) {
  const Output text = run_example("examples_counts", "--json --benchmark_filter=gpu.*C:96");
  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(text.text, AllOf(HasSubstr("transpose/gpu_v3_refused/f32/R:64/C:96: simt: gridDim.x"),
                               HasSubstr("\"transpose/gpu_v1_naive/f32/R:64/C:96\":{")));
}

TEST(KernelRows, ABenchmarkModelsWhatTheProfileCounts) {
  const std::string path =
      std::filesystem::temp_directory_path() / fmt::format("octavo_kernel_rows_{}.json", getpid());
  const Output text = run_example(
      "examples_bench", "--benchmark_repetitions=1 --benchmark_filter=gpu.*C:96 --out " + path);
  EXPECT_EQ(text.status, 0) << text.text;
  EXPECT_THAT(text.text, AllOf(ContainsRegex("gpu_v1_naive +not measured +3 us +3 us +3 us"),
                               ContainsRegex("gpu_v3_refused +not measured +not modelled"),
                               HasSubstr("no cache is modelled")));
  std::ifstream file(path);
  const nlohmann::json rows = nlohmann::json::parse(file)["benchmarks"];
  EXPECT_EQ(rows[0]["version"], "cpu_v1_naive");
  EXPECT_FALSE(rows[0].contains("counts"));
  const auto kernel = [&](const std::string& version) {
    return *std::find_if(rows.begin(), rows.end(), [&](const nlohmann::json& row) {
      return row["version"] == version && row["shape"] == "R:64/C:96";
    });
  };
  const nlohmann::json naive = kernel("gpu_v1_naive");
  EXPECT_DOUBLE_EQ(naive["counts"]["bytes"], 4.0 * 64 * 96 * 9);
  EXPECT_EQ(naive["counts"]["launches"], 1);
  EXPECT_DOUBLE_EQ(naive["model_ns"]["H100"], 3000);
  EXPECT_FALSE(kernel("gpu_v3_refused").contains("model_ns"));
  std::filesystem::remove(path);
}

TEST(KernelRows, WithoutACountingProgramNothingIsModelled) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("octavo_kernel_rows_{}", getpid());
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(std::string(kPrograms) + "/examples_bench", folder / "examples_bench",
                             std::filesystem::copy_options::overwrite_existing);
  const Output text = run(folder.string() +
                          "/examples_bench --benchmark_repetitions=1 --benchmark_filter=gpu.*C:96");
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.text, AllOf(HasSubstr("no kernel is modelled: "), HasSubstr("is not there"),
                               ContainsRegex("gpu_v1_naive +not measured +not modelled"),
                               Not(HasSubstr("no cache is modelled"))));
  std::filesystem::remove_all(folder);
}

TEST(KernelRows, BadArgumentsAreOneLineAndStatusTwo) {
  for (const char* program :
       {"examples_bench --json", "examples_counts --save", "examples_counts '--benchmark_filter=('",
        "examples_bench '--benchmark_filter=('", "examples_counts --benchmark_filter=none",
        "examples_bench --benchmark_filter=none --out /dev/full",
        "examples_bench --benchmark_filter=cpu --save"}) {
    const Output text = run(fmt::format("'{}'/{}", kPrograms, program));
    EXPECT_EQ(text.status, 2) << program;
    EXPECT_EQ(std::count(text.text.begin(), text.text.end(), '\n'), 1) << text.text;
  }
}

TEST(Filter, IsGoogleBenchmarks) {
  EXPECT_TRUE(filter_selects("", "a"));
  EXPECT_TRUE(filter_selects("all", "a"));
  EXPECT_TRUE(filter_selects("gpu_v[12]", "ffn/gpu_v2/bf16"));
  EXPECT_FALSE(filter_selects("gpu_v[12]", "ffn/gpu_v3/bf16"));
  EXPECT_FALSE(filter_selects("-gpu", "ffn/gpu_v3/bf16"));
  EXPECT_TRUE(filter_selects("-gpu", "ffn/cpu_v1/f32"));
}

}  // namespace
}  // namespace octavo::bench
