// ./run demo 02: what a sparse layer stores and what a token uses of it, how many experts a batch
// touches, what running them costs when their loads differ, and what their gate learns from.

#include "02_sparse_moe/demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "01_dense_ffn/cost.h"
#include "02_sparse_moe/experts.h"
#include "02_sparse_moe/routing.h"
#include "02_sparse_moe/topics.h"
#include "common/base/error.h"
#include "common/testing/random.h"

namespace octavo::sparse_moe {
namespace {

void show_model(std::string_view name, const std::string& config_name) {
  const model::ModelConfig config = model::load_config(
      std::filesystem::path(OCTAVO_SOURCE_DIR) / "common/model/configs" / (config_name + ".json"));
  const PartCost all = total(forward_cost(config, {.tokens = 1}));
  const PartCost batch = total(forward_cost(config, {.tokens = 16, .sequences = 16}));
  const auto billions = [](std::int64_t n) {
    return fmt::format("{:.2f} B", static_cast<double>(n) / 1e9);
  };
  fmt::print("{:<14}{:>12}{:>14}{:>8.1f} %{:>16.1f}{:>14.1f}{:>16.1f}\n", name,
             billions(all.parameters), billions(all.active),
             100 * static_cast<double>(all.active) / static_cast<double>(all.parameters),
             all.work.flops / 1e9, all.work.bytes / 1e9, batch.work.bytes / 16e9);
}

struct Sparse {
  const char* name;
  std::int64_t E, k, D, F;
};
constexpr Sparse kLayers[] = {{"Mixtral-8x7B", 8, 2, 4096, 14336},
                              {"OLMoE-1B-7B", 64, 8, 2048, 1024},
                              {"DeepSeek-V3", 256, 8, 7168, 2048}};

// Distinct experts that T tokens with random logits choose.
std::int64_t counted_experts(const Sparse& s, std::int64_t T, std::uint32_t stream) {
  const std::vector<float> logits = testing::normal(T * s.E, stream);
  const RoutingPlan plan =
      SoftmaxTopKRouter(s.E, s.k, true).route(View<const float, 2>(logits, {T, s.E}));
  return std::ssize(std::set<int>(plan.ids.begin(), plan.ids.end()));
}

}  // namespace

void show_parameters() {
  fmt::print(
      "1. What is stored and what a token uses\n\n"
      "{:<14}{:>12}{:>14}{:>10}{:>16}{:>14}{:>16}\n",
      "", "parameters", "a token's", "", "GFLOP a token", "GB, 1 token", "GB each of 16");
  show_model("Llama-3-70B", "llama-3-70b");
  show_model("Mixtral-8x7B", "mixtral-8x7b");
  show_model("DeepSeek-V3", "deepseek-v3");
  // Shazeer et al. 2017, section 5.2: two matrices, 512 x 1024 and back, an expert.
  constexpr double kExpert = 2.0 * 512 * 1024;
  fmt::print(
      "\nThe largest layer of 2017 had 131072 experts of {:.2f} M parameters between two LSTM "
      "layers:\n{:.1f} B parameters, of which a token used the {:.1f} M of 4 experts: one in "
      "{}.\n",
      kExpert / 1e6, 131072 * kExpert / 1e9, 4 * kExpert / 1e6, 131072 / 4);
}

void show_touched_experts() {
  fmt::print(
      "\n2. Experts that T tokens touch: E (1 - (1 - k/E)^T), counted over 20 random batches, and "
      "the\n   GB of their weights in 2 bytes\n\n{:>6}",
      "T");
  for (const Sparse& s : kLayers)
    fmt::print("{:>30}", fmt::format("{} ({} of {})", s.name, s.k, s.E));
  fmt::print("\n");
  for (std::int64_t T : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
    fmt::print("{:>6}", T);
    for (const Sparse& s : kLayers) {
      double counted = 0;
      for (std::uint32_t i = 0; i < 20; ++i) {
        counted += static_cast<double>(counted_experts(s, T, 100 + i)) / 20;
      }
      const Work work = experts_work(T, s.k, counted, s.D, s.F, 3, 2);
      fmt::print("{:>12.1f}{:>9.1f}{:>9.2f}", touched_experts(T, s.k, s.E), counted,
                 work.bytes / 1e9);
    }
    fmt::print("\n");
  }
  fmt::print(
      "Until all experts are hot a token brings new weights to read, and a batch saves less than "
      "in a\ndense layer.\n");
}

void show_padding() {
  constexpr std::int64_t T = 128;
  fmt::print("\n3. Rows computed for each row there is, {} tokens\n\n{:<14}{:<8}{:>9}{:>9}", T, "",
             "load", "least", "most");
  for (const char* way : {"loop", "padded", "tiles 16", "tiles 64", "tiles 128"}) {
    fmt::print("{:>11}", way);
  }
  fmt::print("\n");
  for (const Sparse& s : kLayers) {
    for (Spread spread : {Spread::kEven, Spread::kSkew, Spread::kOne}) {
      std::vector<std::int64_t> rows(static_cast<std::size_t>(s.E));
      for (std::int64_t slot = 0; slot < T * s.k; ++slot) {
        ++rows[static_cast<std::size_t>(id_of_slot(spread, slot / s.k, slot % s.k, s.k, s.E))];
      }
      const auto [least, most] = std::ranges::minmax(rows);
      const auto share = [&](std::int64_t computed) {
        return static_cast<double>(computed) / static_cast<double>(T * s.k);
      };
      fmt::print("{:<14}{:<8}{:>9}{:>9}{:>11.2f}{:>11.2f}", s.name, name_of(spread), least, most,
                 1.0, share(s.E * most));
      for (std::int64_t tile : {16, 64, 128}) {
        std::int64_t computed = 0;
        for (std::int64_t M : rows) computed += (M + tile - 1) / tile * tile;
        fmt::print("{:>11.2f}", share(computed));
      }
      fmt::print("\n");
    }
  }
  fmt::print(
      "A padded batch is as long for every expert as for the busiest. Tiles pad each expert's "
      "last one.\n");
}

}  // namespace octavo::sparse_moe

int main(int argc, char**) {
  try {
    octavo::require(argc == 1, "usage: demo");
    using namespace octavo::sparse_moe;
    show_parameters();
    show_touched_experts();
    show_padding();
    show_skew();
    show_routers();
    show_noise();
  } catch (const octavo::Error& error) {
    std::fprintf(stderr, "demo: %s\n", error.what());
    return 2;
  }
  return 0;
}
