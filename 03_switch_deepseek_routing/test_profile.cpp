// The traffic of the kernels against what their headers say.

#include <gtest/gtest.h>

#include "03_switch_deepseek_routing/topics.h"
#include "03_switch_deepseek_routing/versions.h"
#include "common/simt/profile/profile.h"
#include "common/testing/contract.h"

namespace octavo::switch_routing {
namespace {

struct Traffic {
  std::int64_t read = 0, written = 0, wavefronts = 0;  // bytes of global memory; shared memory
  std::int64_t sectors = 0, ideal_sectors = 0;         // of global memory
};

template <class Shape, class Args>
Traffic traffic(const testing::Topic<Shape, Args>& topic, const Shape& shape,
                std::string_view version) {
  Registry registry;
  append_versions(registry);
  testing::OperandSettings settings;
  settings.device = simt_device();
  testing::Operands operands(settings);
  const Args args = topic.make(shape, operands);
  const Version<Args>& v = registry.find<Args>(topic.name, Backend::kSimt, version);
  simt::Profiler profiler;
  EXPECT_TRUE(testing::detail::run_version(v, args, operands).empty());
  Traffic sum;
  for (const simt::KernelProfile& k : profiler.kernels()) {
    sum.read += static_cast<std::int64_t>(k.counters.global_read_bytes);
    sum.written += static_cast<std::int64_t>(k.counters.global_write_bytes);
    sum.wavefronts += static_cast<std::int64_t>(k.counters.shared_wavefronts);
    for (const simt::SiteProfile& site : k.sites) {
      if (site.space == simt::cpu::Space::kShared) continue;
      sum.sectors += static_cast<std::int64_t>(site.cost);
      sum.ideal_sectors += static_cast<std::int64_t>(site.ideal);
    }
  }
  return sum;
}

// Logits are read once and the biases once a row, choices written once; v1 keeps its rows in shared
// memory, v2 in registers.
TEST(Profile, AGateReadsItsLogitsOnce) {
  constexpr std::int64_t T = 8, E = 256, k = 8;
  for (std::string_view version : {"gpu_v1_row", "gpu_v2_registers"}) {
    const Traffic c = traffic(grouped_top_k_topic(), deepseek_v3_gate(T), version);
    EXPECT_EQ(c.read, 2 * 4 * T * E) << version;
    EXPECT_EQ(c.written, 8 * T * k) << version;
    EXPECT_EQ(2 * grouped_top_k_work(T, E, k).bytes, static_cast<double>(c.read + 2 * c.written));
    EXPECT_EQ(c.wavefronts > 0, version == "gpu_v1_row");
    EXPECT_GT(c.ideal_sectors, 0);
    EXPECT_EQ(c.sectors, c.ideal_sectors) << version;
  }
}

// v2 reads the ids twice, and has a block for each 1024 slots.
TEST(Profile, PlacesReadWhatTheirHeadersSay) {
  constexpr std::int64_t T = 2048, E = 16, slots = 2 * T;
  const DispatchShape shape{.T = T, .E = E, .k = 2, .C = T};  // nothing is dropped
  const Traffic one = traffic(capacity_dispatch_topic(), shape, "gpu_v1_block"),
                two = traffic(capacity_dispatch_topic(), shape, "gpu_v2_chunks");
  EXPECT_LE(one.read, 8 * slots);  // the weights of the slots that stay
  EXPECT_GT(one.read, 7 * slots);
  EXPECT_EQ(one.written, 8 * slots + 4 * E);
  const double least = capacity_dispatch_work(T, E, 2).bytes;  // which takes all slots to stay
  EXPECT_LE(static_cast<double>(one.read + one.written), least);
  EXPECT_GT(static_cast<double>(one.read + one.written), 0.95 * least);
  constexpr std::int64_t counts = 4 * E * (slots / 1024);
  EXPECT_GT(two.read, one.read + 4 * slots);
  EXPECT_LE(two.read, one.read + 4 * slots + 2 * counts);
  EXPECT_EQ(two.written, one.written + 2 * counts);
}

}  // namespace
}  // namespace octavo::switch_routing
