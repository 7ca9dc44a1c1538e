// The GPU versions of "experts" on loads of different skew. Their traffic is counted on the
// executor, in sectors of 32 bytes as warps ask for them, on a narrow layer.

#include <fmt/format.h>

#include "02_sparse_moe/demo.h"
#include "02_sparse_moe/topics.h"
#include "02_sparse_moe/versions.h"
#include "common/device/gpu_spec.h"
#include "common/testing/contract.h"
#if OCTAVO_PROFILED
#include "common/simt/profile/profile.h"
#endif

namespace octavo::sparse_moe {
namespace {

struct Counted {
  double bytes = 0, mma_flops = 0;
  int launches = 0;
};

#if OCTAVO_PROFILED
constexpr bool kCounted = true;

Counted count(const Version<ExpertsArgs>& version, const ExpertsShape& shape) {
  testing::OperandSettings settings;
  settings.device = simt_device();
  settings.compute = DType::kBF16;
  testing::Operands operands(settings);
  const ExpertsArgs args = experts_topic().make(shape, operands);
  const simt::Profiler profiler;
  (void)testing::detail::run_version(version, args, operands);
  Counted c;
  for (const simt::KernelProfile& kernel : profiler.kernels()) {
    c.bytes += 32 * static_cast<double>(kernel.counters.global_sectors);
    c.mma_flops += static_cast<double>(kernel.counters.mma_flops);
    c.launches += static_cast<int>(kernel.counters.launches);
  }
  return c;
}
#else
constexpr bool kCounted = false;

Counted count(const Version<ExpertsArgs>& version, const ExpertsShape& shape) {
  const ExpertsArgs args = testing::args_of_shape(experts_topic(), shape, DType::kBF16);
  return {.bytes = experts_topic().work(shape, DType::kBF16).bytes,
          .launches = static_cast<int>(version.launches(args, kH100.device()).size())};
}
#endif

void show(const Registry& registry, ExpertsShape shape) {
  const auto topic = experts_topic();
  fmt::print("\nT {}, {} of {} experts, D {}, F {}, BF16\n{:<16}{:<6}{:>10}{:>10}{:>15}{:>14}\n",
             shape.T, shape.k, shape.E, shape.D, shape.F, "version", "load", "launches", "MB moved",
             "moved / least", "mma / useful");
  for (const Version<ExpertsArgs>& v : registry.versions<ExpertsArgs>(topic.name)) {
    for (Spread spread : {Spread::kEven, Spread::kSkew, Spread::kOne}) {
      shape.spread = spread;
      const ExpertsArgs args = testing::args_of_shape(topic, shape, DType::kBF16);
      if (v.backend != Backend::kSimt || !v.takes(args, simt_device(), DType::kBF16)) continue;
      const Counted c = count(v, shape);
      const Work least = topic.work(shape, DType::kBF16);
      fmt::print("{:<16}{:<6}{:>10}{:>10.2f}{:>15.2f}{:>14}\n", v.name, name_of(spread), c.launches,
                 c.bytes / 1e6, c.bytes / least.bytes,
                 c.mma_flops > 0 ? fmt::format("{:.2f}", c.mma_flops / least.flops) : "no mma");
    }
  }
}

}  // namespace

void show_skew() {
  Registry registry;
  append_versions(registry);
  fmt::print(
      "\n4. The kernels as the load skews: launches, bytes beside the least that the layer needs, "
      "and\n   tensor-core FLOPs beside the useful ones. {}\n",
      kCounted ? "Bytes are what warps ask for, as if there were no\n   cache; counted on the "
                 "executor, on a narrow layer."
               : "This build counts nothing:\n   the bytes are the least.");
  show(registry, {.T = 8, .k = 2, .E = 8, .D = 128, .F = 128});
  show(registry, {.T = 64, .k = 2, .E = 8, .D = 128, .F = 128});
  fmt::print(
      "The loop asks for an expert's weights anew for each of its rows. The padded batch is\n"
      "launched before anyone knows the load, so that every expert's has room for all T k slots.\n"
      "Tiles and the decode kernel follow the load. At 3 us a launch a layer this narrow takes as\n"
      "long as its launches do; the bench has real widths.\n");
}

}  // namespace octavo::sparse_moe
