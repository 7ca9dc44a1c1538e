// What the rungs of the ladders can reach. Their traffic is counted on the executor, in sectors of
// 32 bytes as warps ask for them, on a small product, and scaled to a large one.

#include <fmt/format.h>

#include <algorithm>

#include "01_dense_ffn/demo.h"
#include "01_dense_ffn/topics.h"
#include "01_dense_ffn/versions.h"
#include "common/bench/table.h"
#include "common/device/gpu_spec.h"
#include "common/testing/contract.h"
#if OCTAVO_PROFILED
#include "common/simt/profile/profile.h"
#endif

namespace octavo::dense_ffn {
namespace {

struct Traffic {
  double bytes = 0;
  bool matrix_units = false;  // whether it uses the tensor cores
};

// A product that is run, and the one that it stands for.
template <class Shape>
struct Sizes {
  Shape small, large;
  double reads = 1;   // how many times as much the large one reads
  double writes = 1;  // and writes
};

// Reads grow with T N K, writes with T N.
Sizes<MatmulShape> matmul_sizes(const MatmulShape& small, const MatmulShape& large) {
  const auto ratio = [](std::int64_t a, std::int64_t b) {
    return static_cast<double>(a) / static_cast<double>(b);
  };
  const double writes = ratio(large.T * large.N, small.T * small.N);
  return {small, large, writes * ratio(large.K, small.K), writes};
}

// Reads grow with T D F; of what is written H grows with T F, and Y in the same measure, for D and
// F are enlarged alike.
Sizes<FfnShape> ffn_sizes(const FfnShape& small, const FfnShape& large) {
  const Sizes<MatmulShape> up =
      matmul_sizes({small.T, small.F, small.D}, {large.T, large.F, large.D});
  return {small, large, up.reads, up.writes};
}

#if OCTAVO_PROFILED
constexpr bool kCounted = true;

// What the version moves for the large shape, from a run on the small one. The device is as small
// as that, so that tiles are chosen as for the large one.
template <class Shape, class Args>
Traffic traffic_of(const testing::Topic<Shape, Args>& topic, const Version<Args>& version,
                   const Sizes<Shape>& sizes) {
  testing::OperandSettings settings;
  settings.device = device_of(Backend::kSimt);
  settings.device.multiprocessors =
      std::max(1, static_cast<int>(settings.device.multiprocessors / sizes.writes));
  settings.compute = DType::kBF16;
  testing::Operands operands(settings);
  const Args args = topic.make(sizes.small, operands);
  const simt::Profiler profiler;
  (void)testing::detail::run_version(version, args, operands);
  Traffic traffic;
  for (const simt::KernelProfile& kernel : profiler.kernels()) {
    traffic.matrix_units |= kernel.counters.mma > 0;
    for (const simt::SiteProfile& site : kernel.sites) {
      if (site.space != simt::cpu::Space::kGlobal) continue;
      const bool store = site.kind == simt::AccessKind::kStore;
      traffic.bytes += 32 * static_cast<double>(site.cost) * (store ? sizes.writes : sizes.reads);
    }
  }
  return traffic;
}
#else
constexpr bool kCounted = false;

template <class Shape, class Args>
Traffic traffic_of(const testing::Topic<Shape, Args>& topic, const Version<Args>&,
                   const Sizes<Shape>& sizes) {
  return {.bytes = topic.work(sizes.large, DType::kBF16).bytes};
}
#endif

// The name of what takes longest.
const char* limit_of(double memory, double arithmetic, double launches) {
  if (launches >= memory && launches >= arithmetic) return "launches";
  return memory >= arithmetic ? "memory" : "arithmetic";
}

template <class Shape, class Args>
void show(const Registry& registry, const testing::Topic<Shape, Args>& topic,
          const Sizes<Shape>& sizes) {
  const Work least = topic.work(sizes.large, DType::kBF16);
  fmt::print("\n{} {} in BF16: at least {:.3f} GB and {:.3g} GFLOP\n", topic.name,
             topic.describe(sizes.large), least.bytes / 1e9, least.flops / 1e9);
  fmt::print("{:<16}{:>10}{:>12}{:>10}{:>10}{:>10}   {}\n", "version", "GB moved", "x the least",
             "A100", "H100", "H200", "bound on an H100 by");
  const Args shape = testing::args_of_shape(topic, sizes.large, DType::kBF16);
  for (const Version<Args>& v : registry.versions<Args>(topic.name)) {
    const Device device = device_of(Backend::kSimt);
    if (v.backend != Backend::kSimt || !v.takes(shape, device, DType::kBF16)) continue;
    const Traffic t = traffic_of(topic, v, sizes);
    const auto launches = static_cast<int>(v.launches(shape, kH100.device()).size());
    const DType units = t.matrix_units || !kCounted ? DType::kBF16 : DType::kF32;
    fmt::print("{:<16}{:>10.3f}{:>12.1f}", v.name, t.bytes / 1e9, t.bytes / least.bytes);
    const Work moved{.flops = least.flops, .bytes = t.bytes};
    for (const GpuSpec& gpu : gpu_specs())
      fmt::print("{:>10}", bench::format_time(model_seconds(gpu, moved, units, launches)));
    fmt::print("   {}\n",
               limit_of(t.bytes / kH100.memory_bandwidth, least.flops / kH100.peak_flops(units),
                        launches * kLaunchSeconds));
  }
}

}  // namespace

void show_ladder() {
  Registry registry;
  append_versions(registry);
  fmt::print("\n3. What the kernels can reach, by a model and not measured\n");
  if (kCounted) {
    fmt::print(
        "   max(bytes / bandwidth, FLOPs / peak, launches x 3 us). Bytes are counted by the\n"
        "   executor on a small product and scaled: what warps ask for, as if there were no "
        "cache.\n"
        "   The peak is that of the tensor cores for the kernels that use them.\n");
  } else {
    fmt::print(
        "   max(bytes / bandwidth, FLOPs / peak, launches x 3 us). This build counts no bytes "
        "(the\n"
        "   profile excludes the sanitizers): they are the least that the operation needs.\n");
  }
  show(registry, matmul_topic(), matmul_sizes({128, 128, 128}, {512, 14336, 4096}));
  show(registry, ffn_topic(), ffn_sizes({128, 128, 448}, {512, 4096, 14336}));
  show(registry, matmul_topic(), matmul_sizes({1, 128, 1024}, {1, 14336, 4096}));
  show(registry, ffn_topic(), ffn_sizes({1, 512, 1792}, {1, 4096, 14336}));
}

}  // namespace octavo::dense_ffn
