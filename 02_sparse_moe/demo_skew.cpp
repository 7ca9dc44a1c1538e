// The GPU versions of "experts" on loads of different skew. Their traffic is counted on the
// executor, in sectors of 32 bytes as warps ask for them, on a narrow layer.

#include <fmt/format.h>

#include "02_sparse_moe/demo.h"
#include "02_sparse_moe/topics.h"
#include "02_sparse_moe/versions.h"
#include "common/bench/table.h"
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
  fmt::print("\nT {}, {} of {} experts, D {}, F {}, BF16\n{:<16}{:<7}{:>10}{:>10}{:>13}", shape.T,
             shape.k, shape.E, shape.D, shape.F, "version", "load", "launches", "MB moved",
             "mma / useful");
  for (const GpuSpec& gpu : gpu_specs()) fmt::print("{:>10}", gpu.name);
  fmt::print("\n");
  for (const Version<ExpertsArgs>& v : registry.versions<ExpertsArgs>(topic.name)) {
    for (Spread spread : {Spread::kEven, Spread::kSkew, Spread::kOne}) {
      shape.spread = spread;
      const ExpertsArgs args = testing::args_of_shape(topic, shape, DType::kBF16);
      if (v.backend != Backend::kSimt || !v.takes(args, simt_device(), DType::kBF16)) continue;
      const Counted c = count(v, shape);
      const Work work{.flops = topic.work(shape, DType::kBF16).flops, .bytes = c.bytes};
      fmt::print("{:<16}{:<7}{:>10}{:>10.2f}{:>13.2f}", v.name, name_of(spread), c.launches,
                 c.bytes / 1e6, c.mma_flops / work.flops);
      const DType units = c.mma_flops > 0 ? DType::kBF16 : DType::kF32;
      for (const GpuSpec& gpu : gpu_specs()) {
        const Work done{.flops = std::max(work.flops, c.mma_flops), .bytes = work.bytes};
        fmt::print("{:>10}", bench::format_time(model_seconds(gpu, done, units, c.launches)));
      }
      fmt::print("\n");
    }
  }
}

}  // namespace

void show_skew() {
  Registry registry;
  append_versions(registry);
  fmt::print(
      "\n4. The kernels as the load skews, by a model and not measured:\n"
      "   max(bytes / bandwidth, FLOPs / peak, launches x 3 us). {}\n",
      kCounted ? "Bytes are what warps ask for, as if\n   there were no cache; counted on the "
                 "executor."
               : "This build counts\n   no bytes: they are the least that the layer needs.");
  show(registry, {.T = 8, .k = 2, .E = 8, .D = 128, .F = 128});
  show(registry, {.T = 128, .k = 2, .E = 8, .D = 128, .F = 128});
  fmt::print(
      "A layer this narrow is bound by its launches. What grows with it are the bytes, which the "
      "bench\ncounts for a real one.\n");
}

}  // namespace octavo::sparse_moe
