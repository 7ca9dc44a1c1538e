// The judge of the exercise "tiled": the contract of "matmul", and the bytes that the kernel moves.

#include <fmt/format.h>

#include "01_dense_ffn/exercises/exercises.h"
#include "01_dense_ffn/gpu_versions.h"
#include "01_dense_ffn/topics.h"
#include "common/simt/profile/profile.h"
#include "common/testing/exercise.h"

namespace octavo::dense_ffn {
namespace {

using testing::Verdict;

constexpr MatmulShape kProfiled = {64, 64, 64};

// Bytes of the sectors that a version moves on kProfiled.
double moved_bytes(const Version<MatmulArgs>& version) {
  testing::OperandSettings settings;
  settings.device = device_of(Backend::kSimt);
  testing::Operands operands(settings);
  const MatmulArgs args = matmul_topic().make(kProfiled, operands);
  const simt::Profiler profiler;
  (void)testing::detail::run_version(version, args, operands);
  double sectors = 0;
  for (const simt::KernelProfile& k : profiler.kernels())
    sectors += static_cast<double>(k.counters.global_sectors);
  return 32 * sectors;
}

Verdict traffic() {
  constexpr double kWanted = 1.0 / 32;  // tiles of 16 in sectors of 32 bytes give 1/57
  const double naive = moved_bytes(on_simt::matmul_gpu_v1_naive());
  const double ours = moved_bytes(on_simt::exercise_tiled());
  const std::string figures =
      fmt::format("it moves {:.0f} kB for {}, where gpu_v1_naive moves {:.0f} kB", ours / 1e3,
                  matmul_topic().describe(kProfiled), naive / 1e3);
  if (ours <= kWanted * naive) return {true, fmt::format("And {}.\n", figures)};
  return {false,
          fmt::format("{}.\nAt most {:.0f} kB are wanted. Fetch into shared memory what several "
                      "threads need, and let neighbouring\nthreads fetch neighbouring elements.\n",
                      figures, kWanted * naive / 1e3)};
}

testing::Exercise exercise() {
  return {.subjects = testing::subjects_of(matmul_topic(), on_simt::exercise_tiled()),
          .more = traffic};
}

}  // namespace
}  // namespace octavo::dense_ffn

int main() {
  return octavo::testing::run_exercise(OCTAVO_EXERCISE_FILE, octavo::dense_ffn::exercise);
}
