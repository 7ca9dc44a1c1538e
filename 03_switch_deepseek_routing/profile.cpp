// ch03_profile [--lines]: what each GPU version of this chapter does to memory, on the executor.
// With --lines also every line of every kernel that touches memory.

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "03_switch_deepseek_routing/topics.h"
#include "03_switch_deepseek_routing/versions.h"
#include "common/simt/profile/profile.h"
#include "common/testing/contract.h"

namespace octavo::switch_routing {
namespace {

template <class Shape, class Args>
std::vector<simt::KernelProfile> profile(const testing::Topic<Shape, Args>& topic,
                                         const Shape& shape, const Version<Args>& version) {
  testing::OperandSettings settings;
  settings.device = simt_device();
  testing::Operands operands(settings);
  const Args args = topic.make(shape, operands);
  simt::Profiler profiler;
  for (const std::string& complaint : testing::detail::run_version(version, args, operands)) {
    fail("{} {}: {}", topic.name, version.name, complaint);
  }
  return profiler.kernels();
}

template <class Shape, class Args>
void print(const testing::Topic<Shape, Args>& topic, const Shape& shape, bool lines) {
  Registry registry;
  append_versions(registry);
  fmt::print("{} {}: at least {:.0f} bytes\n", topic.name, topic.describe(shape),
             topic.work(shape, DType::kF32).bytes);
  fmt::print("{:<18}{:>9}{:>12}{:>10}{:>10}{:>12}{:>10}{:>10}\n", "version", "launches",
             "bytes read", "written", "sectors", "wavefronts", "barriers", "warp ops");
  for (const Version<Args>& v : registry.versions<Args>(topic.name)) {
    const Args args = testing::args_of_shape(topic, shape, DType::kF32);
    if (!v.takes(args, simt_device(), DType::kF32)) continue;
    const std::vector<simt::KernelProfile> kernels = profile(topic, shape, v);
    simt::Counters c;
    for (const simt::KernelProfile& k : kernels) {
      c.launches += k.counters.launches;
      c.global_read_bytes += k.counters.global_read_bytes;
      c.global_write_bytes += k.counters.global_write_bytes;
      c.global_sectors += k.counters.global_sectors;
      c.shared_wavefronts += k.counters.shared_wavefronts;
      c.barriers += k.counters.barriers;
      c.warp_operations += k.counters.warp_operations;
    }
    fmt::print("{:<18}{:>9}{:>12}{:>10}{:>10}{:>12}{:>10}{:>10}\n", v.name, c.launches,
               c.global_read_bytes, c.global_write_bytes, c.global_sectors, c.shared_wavefronts,
               c.barriers, c.warp_operations);
    for (const simt::KernelProfile& k : kernels) {
      if (lines) fmt::print("{}\n", to_text(k));
    }
  }
  fmt::print("\n");
}

}  // namespace
}  // namespace octavo::switch_routing

int main(int argc, char** argv) {
  using namespace octavo::switch_routing;
  if (argc > 2 || (argc == 2 && std::string_view(argv[1]) != "--lines")) {
    fmt::print(stderr, "usage: ch03_profile [--lines]\n");
    return 2;
  }
  try {
    print(grouped_top_k_topic(), deepseek_v3_gate(64), argc == 2);
    print(capacity_dispatch_topic(), DispatchShape{.T = 2048, .E = 64, .k = 2, .C = 80}, argc == 2);
  } catch (const octavo::Error& error) {
    fmt::print(stderr, "ch03_profile: {}\n", error.what());
    return 1;
  }
  return 0;
}
