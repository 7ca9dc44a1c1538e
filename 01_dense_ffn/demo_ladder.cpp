// What the rungs of the ladder can reach. Their traffic is counted on the executor, in sectors of
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

#if OCTAVO_PROFILED
constexpr bool kCounted = true;

double product(const MatmulShape& s) {
  return static_cast<double>(s.T) * static_cast<double>(s.N) * static_cast<double>(s.K);
}
double outputs(const MatmulShape& s) { return static_cast<double>(s.T) * static_cast<double>(s.N); }

// What the version moves for `large`, from a run on `small`: reads grow with T N K, writes with
// T N. The device is as small as the product, so that tiles are chosen as for the large one.
Traffic traffic_of(const Version<MatmulArgs>& version, const MatmulShape& small,
                   const MatmulShape& large) {
  testing::OperandSettings settings;
  settings.device = device_of(Backend::kSimt);
  settings.device.multiprocessors = std::max(
      1, static_cast<int>(settings.device.multiprocessors * outputs(small) / outputs(large)));
  settings.compute = DType::kBF16;
  testing::Operands operands(settings);
  const MatmulArgs args = matmul_topic().make(small, operands);
  const simt::Profiler profiler;
  (void)testing::detail::run_version(version, args, operands);
  Traffic traffic;
  for (const simt::KernelProfile& kernel : profiler.kernels()) {
    traffic.matrix_units |= kernel.counters.mma > 0;
    for (const simt::SiteProfile& site : kernel.sites) {
      if (site.space != simt::cpu::Space::kGlobal) continue;
      const double bytes = 32 * static_cast<double>(site.cost);
      const bool store = site.kind == simt::AccessKind::kStore;
      traffic.bytes +=
          bytes * (store ? outputs(large) / outputs(small) : product(large) / product(small));
    }
  }
  return traffic;
}
#else
constexpr bool kCounted = false;

Traffic traffic_of(const Version<MatmulArgs>&, const MatmulShape&, const MatmulShape& large) {
  return {.bytes = matmul_work(large.T, large.N, large.K, 2).bytes};
}
#endif

// The name of what takes longest.
const char* limit_of(double memory, double arithmetic, double launches) {
  if (launches >= memory && launches >= arithmetic) return "launches";
  return memory >= arithmetic ? "memory" : "arithmetic";
}

void show(const Registry& registry, const MatmulShape& small, const MatmulShape& large) {
  const auto topic = matmul_topic();
  const Work least = topic.work(large, DType::kBF16);
  fmt::print("\n{} in BF16: at least {:.3f} GB and {:.3g} GFLOP\n", topic.describe(large),
             least.bytes / 1e9, least.flops / 1e9);
  fmt::print("{:<16}{:>10}{:>12}{:>10}{:>10}{:>10}   {}\n", "version", "GB moved", "x the least",
             "A100", "H100", "H200", "bound on an H100 by");
  const MatmulArgs shape = testing::args_of_shape(topic, large, DType::kBF16);
  for (const Version<MatmulArgs>& v : registry.versions<MatmulArgs>(topic.name)) {
    const Device device = device_of(Backend::kSimt);
    if (v.backend != Backend::kSimt || !v.takes(shape, device, DType::kBF16)) continue;
    const Traffic t = traffic_of(v, small, large);
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
  show(registry, {128, 128, 128}, {512, 14336, 4096});
  show(registry, {1, 128, 1024}, {1, 14336, 4096});
}

}  // namespace octavo::dense_ffn
