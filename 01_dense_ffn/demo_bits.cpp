// Row 0 of a product alone and among other rows: which versions of the host give it the same bits.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "01_dense_ffn/demo.h"
#include "01_dense_ffn/topics.h"
#include "01_dense_ffn/versions.h"
#include "common/testing/contract.h"

namespace octavo::dense_ffn {
namespace {

constexpr std::int64_t kN = 256, kK = 4096;

// Row 0 of y from a batch of T rows. Inputs are functions of their index: row 0 of x is the same in
// every batch.
std::vector<double> row_0(const Version<MatmulArgs>& version, std::int64_t T) {
  testing::OperandSettings settings;
  settings.device = cpu_device();
  testing::Operands operands(settings);
  const MatmulArgs args = matmul_topic().make({T, kN, kK}, operands);
  (void)testing::detail::run_version(version, args, operands);
  std::vector<double> y = operands.result("y");
  y.resize(kN);
  return y;
}

}  // namespace

void show_bits() {
  constexpr std::int64_t kRows[] = {2, 3, 4, 5, 8, 16, 17, 64};
  Registry registry;
  append_versions(registry);
  fmt::print(
      "\n4. Row 0 in company: of its {} sums over {} terms, how many round differently in a batch\n"
      "   of T rows than alone, and by how much at most; in fp32, on this CPU\n\n{:<14}",
      kN, kK, "version");
  for (std::int64_t T : kRows) fmt::print("{:>5}", fmt::format("T:{}", T));
  fmt::print("{:>10}\n", "at most");
  for (const Version<MatmulArgs>& v : registry.versions<MatmulArgs>("matmul")) {
    if (v.backend != Backend::kCpu) continue;
    fmt::print("{:<14}", v.name);
    const std::vector<double> alone = row_0(v, 1);
    double most = 0;
    for (std::int64_t T : kRows) {
      const std::vector<double> together = row_0(v, T);
      int changed = 0;
      for (std::size_t i = 0; i < alone.size(); ++i) {
        changed += together[i] != alone[i];
        most = std::max(most, std::abs(together[i] - alone[i]));
      }
      fmt::print("{:>5}", changed);
    }
    fmt::print("{:>10.1e}   {}\n", most,
               v.batch_invariant ? "the engine may use it" : "the engine never picks it");
  }
}

}  // namespace octavo::dense_ffn
