// The design axes of published models, and what a training run's hours imply.

#include <fmt/format.h>

#include "03_switch_deepseek_routing/demo.h"

namespace octavo::switch_routing {
namespace {

struct Design {
  const char *name, *experts, *shared, *weights, *balancing, *placement;
};

// From the papers and the published configs.
constexpr Design kDesigns[] = {
    {"Shazeer 2017", "131072, top 4", "none", "softmax of the chosen", "importance, load",
     "between LSTMs"},
    {"GShard 2020", "2048, top 2", "none", "over the two", "loss, capacity", "every other"},
    {"Switch 2021", "2048, top 1", "none", "raw probability", "loss, capacity", "every other"},
    {"Mixtral 2024", "8, top 2", "none", "softmax of the chosen", "loss", "all"},
    {"DeepSeek-V3 2024", "256, top 8", "1", "sigmoid, normalised", "bias, small loss",
     "all but first 3"},
    {"Qwen3-MoE 2025", "128, top 8", "none", "softmax of the chosen", "loss", "all"},
    {"gpt-oss 2025", "32 or 128, top 4", "none", "softmax of the chosen", "not published", "all"},
};

}  // namespace

void show_models() {
  fmt::print("\n5. The design of published models\n\n");
  fmt::print("{:<17}{:<18}{:<7}{:<22}{:<17}{}\n", "", "experts, at most", "shared", "weights",
             "balanced by", "sparse layers");
  for (const Design& d : kDesigns) {
    fmt::print("{:<17}{:<18}{:<7}{:<22}{:<17}{}\n", d.name, d.experts, d.shared, d.weights,
               d.balancing, d.placement);
  }
  constexpr double kHours = 2.788e6, kPrice = 2, kActive = 37e9, kTokens = 14.8e12;
  constexpr double kPeakBf16 = 989e12, kPeakFp8 = 1979e12;
  const double flops = 6 * kActive * kTokens, rate = flops / (kHours * 3600);
  fmt::print(
      "\nDeepSeek-V3's training: {:.3f} M H800 hours at ${:.0f} are ${:.2f} M. With 6 FLOPs for\n"
      "each of {:.0f} B active parameters and {:.1f} T tokens, {:.2e} FLOPs in all, a GPU did\n"
      "{:.0f} TFLOP/s: {:.0f} % of its peak in bf16, {:.0f} % of that in fp8.\n",
      kHours / 1e6, kPrice, kHours * kPrice / 1e6, kActive / 1e9, kTokens / 1e12, flops,
      rate / 1e12, 100 * rate / kPeakBf16, 100 * rate / kPeakFp8);
}

}  // namespace octavo::switch_routing
