#pragma once
// What the GPU versions of a topic do to memory, a version a row: for the programs chNN_profile,
// whose kernels are built to be counted (common/simt/profile).

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <string_view>

#include "common/base/counted.h"
#include "common/simt/profile/profile.h"
#include "common/testing/contract.h"

namespace octavo::testing {

struct ProfileTotals {
  std::uint64_t sectors = 0, ideal_sectors = 0, wavefronts = 0, ideal_wavefronts = 0;
  std::uint64_t read = 0, written = 0, mma = 0, barriers = 0, launches = 0;
};

inline ProfileTotals totals_of(const std::vector<simt::KernelProfile>& kernels) {
  ProfileTotals t;
  for (const simt::KernelProfile& k : kernels) {
    for (const simt::SiteProfile& s : k.sites) {
      const bool shared = s.space == simt::cpu::Space::kShared;
      (shared ? t.wavefronts : t.sectors) += s.cost;
      (shared ? t.ideal_wavefronts : t.ideal_sectors) += s.ideal;
    }
    t.read += k.counters.global_read_bytes;
    t.written += k.counters.global_write_bytes;
    t.mma += k.counters.mma;
    t.barriers += k.counters.barriers;
    t.launches += k.counters.launches;
  }
  return t;
}

// The executor as a GPU with one multiprocessor: a tile or two fill it as a real shape fills a real
// one, so launch choices are those of a real shape.
inline Device small_simt_device() {
  Device device = simt_device();
  device.multiprocessors = 1;
  return device;
}

// Profiles one run of a version on operands of the topic's making. Throws Error when the run
// complains.
template <class Shape, class Args>
std::vector<simt::KernelProfile> profile_of(const Topic<Shape, Args>& topic, const Shape& shape,
                                            const Version<Args>& version, DType compute) {
  OperandSettings settings;
  settings.device = small_simt_device();
  settings.compute = compute;
  Operands operands(settings);
  const Args args = topic.make(shape, operands);
  simt::Profiler profiler;
  for (const std::string& complaint : detail::run_version(version, args, operands)) {
    fail("{} {}: {}", topic.name, version.name, complaint);
  }
  return profiler.kernels();
}

inline void print_profile_row(std::string_view version, std::string_view shape,
                              const ProfileTotals& t) {
  const auto ratio = [](std::uint64_t cost, std::uint64_t ideal) {
    return ideal == 0 ? 1 : static_cast<double>(cost) / static_cast<double>(ideal);
  };
  fmt::print("{:<18}{:<28} {:>8} {:>10} {:>7.2f} {:>10} {:>7.2f} {:>11} {:>10} {:>8} {:>8}\n",
             version, shape, t.launches, t.sectors, ratio(t.sectors, t.ideal_sectors), t.wavefronts,
             ratio(t.wavefronts, t.ideal_wavefronts), t.read, t.written, t.mma, t.barriers);
}

// The table of a topic on a shape, which is small, since the executor takes its time. Versions for
// few rows get the same shape with few_rows. With `lines`, also every line of every kernel that
// touches memory.
template <class Shape, class Args>
void print_profile(const Registry& registry, const Topic<Shape, Args>& topic, const Shape& shape,
                   std::int64_t few_rows, bool lines) {
  constexpr DType kCompute = DType::kBF16;
  const Device device = small_simt_device();
  fmt::print("{} in {}; {} for the versions that take no more\n", topic.name, name_of(kCompute),
             counted(few_rows, "row"));
  fmt::print("{:<18}{:<28} {:>8} {:>10} {:>7} {:>10} {:>7} {:>11} {:>10} {:>8} {:>8}\n", "version",
             "shape", "launches", "sectors", "x ideal", "wavefronts", "x ideal", "bytes read",
             "written", "mma", "barriers");
  for (const Version<Args>& v : registry.versions<Args>(topic.name)) {
    Shape s = shape;
    const auto taken = [&] { return v.takes(args_of_shape(topic, s, kCompute), device, kCompute); };
    if (!taken() && topic.with_rows) s = topic.with_rows(shape, few_rows);
    if (!taken()) continue;
    const std::vector<simt::KernelProfile> kernels = profile_of(topic, s, v, kCompute);
    print_profile_row(v.name, topic.describe(s), totals_of(kernels));
    if (!lines) continue;
    for (const simt::KernelProfile& k : kernels) fmt::print("{}\n", to_text(k));
  }
  fmt::print("\n");
}

// chNN_profile [--lines]
inline int profile_main(int argc, char** argv, std::string_view name,
                        const std::function<void(bool lines)>& tables) {
  if (argc > 2 || (argc == 2 && std::string_view(argv[1]) != "--lines")) {
    fmt::print(stderr, "usage: {} [--lines]\n", name);
    return 2;
  }
  try {
    tables(argc == 2);
  } catch (const Error& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 1;
  }
  return 0;
}

}  // namespace octavo::testing
