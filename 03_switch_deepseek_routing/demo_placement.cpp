// Where experts live: on several devices, or in host memory.

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <vector>

#include "03_switch_deepseek_routing/demo.h"
#include "03_switch_deepseek_routing/expert_cache.h"
#include "03_switch_deepseek_routing/expert_parallel.h"
#include "common/base/counted.h"
#include "common/testing/random.h"

namespace octavo::switch_routing {
namespace {

// Bytes that R ranks of T tokens each send for one layer whose experts do nothing.
double measured_bytes(std::int64_t T, std::int64_t E, std::int64_t k, std::int64_t D, int R) {
  std::atomic<std::int64_t> sum = 0;
  run_ranks(R, [&](Communicator& ranks) {
    const auto seed = static_cast<std::uint32_t>(ranks.rank());
    const std::vector<float> x = testing::normal(T * D, 2 * seed);
    const std::vector<float> logits = testing::normal(T * E, 2 * seed + 1);
    const RoutingPlan plan = SoftmaxTopKRouter(E, k, true).route({logits.data(), {T, E}});
    std::vector<float> y(x.size());
    expert_parallel_layer(ranks, plan, [](std::int64_t, View<const float, 2>, View<float, 2>) {},
                          {x.data(), {T, D}}, {y.data(), {T, D}});
    sum += ranks.bytes_sent();
  });
  return static_cast<double>(sum.load()) / R;
}

struct OffloadRow {
  const char* name;
  CacheSettings settings;
};

void show_policies(const char* title, const RoutingTrace& trace, std::int64_t slots,
                   double expert_bytes) {
  fmt::print("\n{}: {}, {}, {} of {} a layer on the GPU\n", title, counted(trace.steps(), "step"),
             counted(trace.layers, "layer"), slots, counted(trace.experts, "expert"));
  fmt::print("{:<22}{:>10}{:>12}{:>20}\n", "", "hits", "fetched", "time, no misses = 1");
  CacheCounts none;
  none.layer_misses.resize(trace.uses.size());
  none.layer_prefetches = none.layer_misses;
  const OffloadMachine machine;
  const double least = step_seconds(trace, none, expert_bytes, 0, machine);
  const std::int64_t ahead = std::ssize(trace.uses[0]);
  for (const OffloadRow& row : {OffloadRow{"LRU", {CachePolicy::kLru, slots, 0}},
                                {"LFU", {CachePolicy::kLfu, slots, 0}},
                                {"LRU, next layer ahead", {CachePolicy::kLru, slots, ahead}},
                                {"oracle", {CachePolicy::kOracle, slots, 0}}}) {
    const CacheCounts counts = replay(trace, row.settings);
    fmt::print("{:<22}{:>8.1f} %{:>12}{:>20.1f}\n", row.name, 100 * counts.hit_rate(),
               counts.uses - counts.hits + counts.prefetched,
               step_seconds(trace, counts, expert_bytes, 0, machine) / least);
  }
}

// Mixtral-8x7B: 32 layers of 8 experts of 352 MB in bf16, 3.2 GB of the rest.
void show_when_it_pays() {
  constexpr double kExpert = 3.0 * 4096 * 14336 * 2, kRest = 3.2e9;
  const OffloadMachine machine;
  fmt::print(
      "\nMixtral-8x7B in bf16, a link of {:.0f} GB/s: 1 GPU with 2 of 8 experts a layer (LRU)\n"
      "against 2 GPUs that hold all; tokens/s for each GPU\n",
      machine.link / 1e9);
  fmt::print("{:>6}{:>12}{:>16}{:>16}{:>14}\n", "batch", "hits", "1 GPU, experts", "2 GPUs",
             "2 / 1");
  for (std::int64_t batch : {1, 4, 16, 64}) {
    const RoutingTrace trace = synthetic_trace({.steps = 200,
                                                .layers = 32,
                                                .experts = 8,
                                                .top_k = 2,
                                                .batch = batch,
                                                .skew = 0.5,
                                                .stay = 0.3});
    const CacheCounts counts = replay(trace, {.policy = CachePolicy::kLru, .slots = 2});
    CacheCounts all = counts;
    for (int& misses : all.layer_misses) misses = 0;
    const auto rows = static_cast<double>(batch);
    const double one = rows / step_seconds(trace, counts, kExpert, kRest, machine);
    // Two GPUs read half of the weights each.
    const double two = rows / (step_seconds(trace, all, kExpert, kRest, machine) / 2) / 2;
    fmt::print("{:>6}{:>10.1f} %{:>16.1f}{:>16.1f}{:>14.1f}\n", batch, 100 * counts.hit_rate(), one,
               two, two / one);
  }
}

}  // namespace

void show_all_to_all() {
  fmt::print("\n6. Expert parallelism: what a rank sends for one layer\n\n");
  constexpr std::int64_t T = 512, E = 64, k = 8, D = 32;
  fmt::print("{} tokens a rank, {} experts, {} a token, width {}, fp32, ranks of this process\n", T,
             E, k, D);
  fmt::print("{:>8}{:>14}{:>14}{:>8}\n", "ranks", "formula, kB", "counted, kB", "ratio");
  for (int R : {1, 2, 4, 8}) {
    const double formula = all_to_all_bytes(T, k, D, R, 4, 4),
                 counted = measured_bytes(T, E, k, D, R);
    fmt::print("{:>8}{:>14.1f}{:>14.1f}{:>8}\n", R, formula / 1e3, counted / 1e3,
               formula > 0 ? fmt::format("{:.2f}", counted / formula) : "-");
  }
  fmt::print("\nDeepSeek-V3, 4096 tokens a rank, fp8 there and bf16 back, 58 layers\n");
  fmt::print("{:>8}{:>14}{:>14}{:>24}\n", "ranks", "MB a layer", "GB in all", "seconds at 50 GB/s");
  for (std::int64_t R : {8, 64, 256}) {
    const double layer = all_to_all_bytes(4096, 8, 7168, R, 1, 2);
    fmt::print("{:>8}{:>14.1f}{:>14.2f}{:>24.2f}\n", R, layer / 1e6, 58 * layer / 1e9,
               58 * layer / 50e9);
  }
}

void show_offloading() {
  fmt::print(
      "\n7. Experts in host memory, simulated: LRU and LFU caches, prefetching, an oracle\n");
  const std::string folder = OCTAVO_SOURCE_DIR "/03_switch_deepseek_routing/traces/";
  for (const char* name : {"tiny-moe", "tiny-mla"}) {
    const RoutingTrace trace = read_trace(folder + name + ".json");
    show_policies(name, trace, trace.experts / 2, 1e6);
  }
  show_policies("even routing",
                synthetic_trace({.steps = 500, .layers = 8, .experts = 16, .top_k = 4}), 8, 1e6);
  show_policies("skewed and sticky routing",
                synthetic_trace(
                    {.steps = 500, .layers = 8, .experts = 16, .top_k = 4, .skew = 1, .stay = 0.5}),
                8, 1e6);
  show_when_it_pays();
}

}  // namespace octavo::switch_routing
