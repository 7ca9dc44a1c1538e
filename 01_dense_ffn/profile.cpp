// ch01_profile [--lines]: what each GPU version of this chapter does to memory, on the executor.
// With --lines also every line of every kernel that touches memory.

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "01_dense_ffn/topics.h"
#include "01_dense_ffn/versions.h"
#include "common/simt/profile/profile.h"
#include "common/testing/contract.h"

namespace octavo::dense_ffn {
namespace {

// Small, since the executor takes its time. A GPU with one multiprocessor fills its SMs with this
// shape as a real one does with a real shape, so launch choices are those of a real one.
constexpr MatmulShape kMatmul = {128, 128, 512};
constexpr FfnShape kFfn = {128, 512, 128};
constexpr std::int64_t kFewRows = 16;  // for the versions that take no more
constexpr DType kCompute = DType::kBF16;

struct Totals {
  std::uint64_t sectors = 0, ideal_sectors = 0, wavefronts = 0, ideal_wavefronts = 0;
  std::uint64_t read = 0, written = 0, mma = 0, barriers = 0, launches = 0;
};

Totals sum_of(const std::vector<simt::KernelProfile>& kernels) {
  Totals t;
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

double ratio(std::uint64_t cost, std::uint64_t ideal) {
  return ideal == 0 ? 1 : static_cast<double>(cost) / static_cast<double>(ideal);
}

// Profiles one run of a version on operands of the topic's making.
template <class Shape, class Args>
std::vector<simt::KernelProfile> profile(const testing::Topic<Shape, Args>& topic,
                                         const Shape& shape, const Version<Args>& version,
                                         const Device& device) {
  testing::OperandSettings settings;
  settings.device = device;
  settings.compute = kCompute;
  testing::Operands operands(settings);
  const Args args = topic.make(shape, operands);
  simt::Profiler profiler;
  for (const std::string& complaint : testing::detail::run_version(version, args, operands)) {
    fail("{} {}: {}", topic.name, version.name, complaint);
  }
  return profiler.kernels();
}

template <class Shape, class Args>
void print(const Registry& registry, const testing::Topic<Shape, Args>& topic, const Shape& shape,
           bool lines) {
  Device device = simt_device();
  device.multiprocessors = 1;
  fmt::print("{} in {}; {} rows for the versions that take no more\n", topic.name,
             name_of(kCompute), kFewRows);
  fmt::print("{:<18}{:<18} {:>8} {:>10} {:>7} {:>10} {:>7} {:>11} {:>10} {:>8} {:>8}\n", "version",
             "shape", "launches", "sectors", "x ideal", "wavefronts", "x ideal", "bytes read",
             "written", "mma", "barriers");
  for (const Version<Args>& v : registry.versions<Args>(topic.name)) {
    Shape s = shape;
    if (!v.takes(testing::args_of_shape(topic, s, kCompute), device, kCompute)) {
      s = topic.with_rows(shape, kFewRows);
    }
    if (!v.takes(testing::args_of_shape(topic, s, kCompute), device, kCompute)) continue;
    const std::vector<simt::KernelProfile> kernels = profile(topic, s, v, device);
    const Totals t = sum_of(kernels);
    const std::string name = topic.describe(s);
    fmt::print("{:<18}{:<18} {:>8} {:>10} {:>7.2f} {:>10} {:>7.2f} {:>11} {:>10} {:>8} {:>8}\n",
               v.name, name.substr(0, name.find("/silu")), t.launches, t.sectors,
               ratio(t.sectors, t.ideal_sectors), t.wavefronts,
               ratio(t.wavefronts, t.ideal_wavefronts), t.read, t.written, t.mma, t.barriers);
    if (!lines) continue;
    for (const simt::KernelProfile& k : kernels) fmt::print("{}\n", to_text(k));
  }
  fmt::print("\n");
}

void run(bool lines) {
  Registry registry;
  append_versions(registry);
  print(registry, matmul_topic(), kMatmul, lines);
  print(registry, ffn_topic(), kFfn, lines);
}

}  // namespace
}  // namespace octavo::dense_ffn

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && std::string_view(argv[1]) != "--lines")) {
    fmt::print(stderr, "usage: ch01_profile [--lines]\n");
    return 2;
  }
  try {
    octavo::dense_ffn::run(argc == 2);
  } catch (const octavo::Error& error) {
    fmt::print(stderr, "ch01_profile: {}\n", error.what());
    return 1;
  }
  return 0;
}
