#include "serve/inspect_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "01_dense_ffn/cost.h"
#include "common/base/counted.h"

namespace octavo::serve {

using model::ModelConfig;
using model::ModelSize;
using model::ParameterCount;

std::string with_prefix(double value) {
  constexpr std::string_view kPrefixes[] = {"", " k", " M", " B", " T"};
  std::size_t prefix = 0;
  while (value >= 999.995 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  return prefix == 0 ? fmt::format("{:.0f}", value)
                     : fmt::format("{:.2f}{}", value, kPrefixes[prefix]);
}

std::string shape_text(const ModelConfig& c) {
  std::string text = fmt::format(
      "{}: {} of width {}, {} of {} over {}\nvocabulary {}, context {}\n",
      model::name_of(c.architecture), counted(c.layers, "layer"), c.width, counted(c.heads, "head"),
      c.head_width, counted(c.kv_heads, "KV head"), c.vocab, c.max_context);
  if (c.mla)
    text += fmt::format("latent attention: {} + {} values cached a token and layer\n",
                        c.mla->kv_rank, c.mla->rope);
  if (c.moe) {
    text += fmt::format("{} of width {} in {} of {}, {} a token",
                        counted(c.moe->experts, "routed expert"), c.moe->width,
                        c.layers - c.moe->first_dense, counted(c.layers, "layer"), c.moe->top_k);
    if (c.moe->shared_experts > 0) text += fmt::format(", and {} shared", c.moe->shared_experts);
    text += "\n";
  }
  return text;
}

std::string parameter_table(const ModelConfig& c, const ModelSize& size) {
  const ParameterCount& all = size.parameters;
  const ParameterCount& active = size.active;
  const auto total = static_cast<double>(all.total());
  const double blocks = total - static_cast<double>(all.embedding + all.head + c.width);
  std::string text = fmt::format("{:<18}{:>12}{:>10}{:>13}{:>16}\n", "parameters", "total",
                                 "of all", "of blocks", "active a token");
  const auto row = [&](const char* name, std::int64_t count, std::int64_t used, bool in_blocks) {
    if (count == 0) return;
    const auto n = static_cast<double>(count);
    text += fmt::format("{:<18}{:>12}{:>8.1f} %{:>13}{:>16}\n", name, with_prefix(n),
                        100 * n / total, in_blocks ? fmt::format("{:.1f} %", 100 * n / blocks) : "",
                        with_prefix(static_cast<double>(used)));
  };
  row("embedding", all.embedding, active.embedding, false);
  row("attention", all.attention, active.attention, true);
  row("dense FFN", all.dense_ffn, active.dense_ffn, true);
  row("router", all.router, active.router, true);
  row("routed experts", all.routed_experts, active.routed_experts, true);
  row("shared experts", all.shared_experts, active.shared_experts, true);
  row("norms", all.norms, active.norms, false);
  row("head", all.head, active.head, false);
  row("all", all.total(), active.total(), false);
  if (all.ffn() > all.dense_ffn) row("FFN and experts", all.ffn(), active.ffn(), true);
  if (size.mtp > 0)
    text += fmt::format("{:<18}{:>12}   beside these\n", "MTP modules",
                        with_prefix(static_cast<double>(size.mtp)));
  const double square =
      static_cast<double>(c.layers) * static_cast<double>(c.width) * static_cast<double>(c.width);
  text += fmt::format(
      "a layer in units of D^2: attention {:.2f}, FFN {:.2f} stored and {:.2f} used by a token\n",
      static_cast<double>(all.attention) / square, static_cast<double>(all.ffn()) / square,
      static_cast<double>(active.ffn()) / square);
  return text;
}

std::string flops_table(const ModelConfig& c, std::int64_t context) {
  double projections = 0, scores = 0, ffn = 0, head = 0;
  for (const PartCost& part : forward_cost(c, {.context = context})) {
    const double flops = part.work.flops;
    if (part.part == Part::kProjections) projections = flops;
    if (part.part == Part::kScores) scores = flops;
    if (part.part >= Part::kDenseFfn && part.part <= Part::kSharedExperts) ffn += flops;
    if (part.part == Part::kHead) head = flops;
  }
  const double total = projections + scores + ffn + head;
  std::string text = fmt::format("FLOPs of one token at context {}\n", context);
  const auto row = [&](const char* name, double flops) {
    text += fmt::format("{:<24}{:>12}{:>8.1f} %   {:.2f} x the projections\n", name,
                        with_prefix(flops), 100 * flops / total, flops / projections);
  };
  row("attention projections", projections);
  row("scores and output", scores);
  row("FFN and experts", ffn);
  row("head", head);
  return text;
}

namespace {

// "93.41 GB", "5.65 MB": decimal units, as disks and memories are sold.
std::string decimal_bytes(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.2f} MB", bytes / 1e6);
  return fmt::format("{:.2f} kB", bytes / 1e3);
}

// "4.00 GiB", "1.00 MiB": binary units, in which powers of two are round.
std::string binary_bytes(double bytes) {
  if (bytes >= 0x1p30) return fmt::format("{:.2f} GiB", bytes / 0x1p30);
  if (bytes >= 0x1p20) return fmt::format("{:.2f} MiB", bytes / 0x1p20);
  return fmt::format("{:.2f} KiB", bytes / 0x1p10);
}

}  // namespace

std::string memory_text(const ModelConfig& c, const ModelSize& size, std::optional<double> memory) {
  const double weights = static_cast<double>(size.weight_bytes);
  const double token = static_cast<double>(size.kv_bytes_per_token);
  const double context = static_cast<double>(size.kv_bytes_full_context);
  std::string text = fmt::format("weights   {} ({}; {})\n", decimal_bytes(weights),
                                 name_of(c.dtype), binary_bytes(weights));
  text += fmt::format("KV cache  {} a token, {} at the full context of {}\n", binary_bytes(token),
                      binary_bytes(context), c.max_context);
  if (memory) {
    const double left = *memory - weights;
    text += fmt::format("of {} the weights leave ", decimal_bytes(*memory));
    text += left <= 0 ? "nothing\n"
                      : fmt::format("{}: {:.0f} tokens of KV, {:.1f} full contexts\n",
                                    decimal_bytes(left), left / token, left / context);
  }
  return text;
}

namespace {

// share of 0 .. largest as a bar of at most `width` cells, in eighths of a cell.
std::string bar(double share, double largest, int width) {
  constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = largest > 0 ? static_cast<int>(std::lround(share / largest * width * 8)) : 0;
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[static_cast<std::size_t>(eighths % 8)];
  const int cells = eighths / 8 + (eighths % 8 > 0);
  return text + std::string(static_cast<std::size_t>(width - cells), ' ');
}

std::string without_end_spaces(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace

std::string expert_load_bars(const std::vector<std::int64_t>& layers,
                             const std::vector<std::vector<std::int64_t>>& counts) {
  constexpr std::size_t kSideBySide = 4;
  constexpr int kBar = 9;
  std::string text;
  for (std::size_t first = 0; first < layers.size(); first += kSideBySide) {
    const std::size_t end = std::min(first + kSideBySide, layers.size());
    std::string heading = "expert ", footer = "max/mean ";
    const std::size_t experts = counts[first].size();
    std::vector<std::string> rows(experts);
    for (std::size_t e = 0; e < experts; ++e) rows[e] = fmt::format("{:>5}  ", e);
    for (std::size_t l = first; l < end; ++l) {
      const std::int64_t slots =
          std::accumulate(counts[l].begin(), counts[l].end(), std::int64_t{0});
      const auto largest =
          static_cast<double>(*std::max_element(counts[l].begin(), counts[l].end()));
      const double all = static_cast<double>(std::max<std::int64_t>(slots, 1));
      heading += fmt::format("{:<18}", fmt::format("layer {}", layers[l]));
      footer += fmt::format("{:<18.2f}", largest * static_cast<double>(experts) / all);
      for (std::size_t e = 0; e < experts; ++e) {
        const auto n = static_cast<double>(counts[l][e]);
        rows[e] += fmt::format("{} {:>4.1f} %  ", bar(n, largest, kBar), 100 * n / all);
      }
    }
    text += without_end_spaces(heading) + "\n";
    for (const std::string& row : rows) text += without_end_spaces(row) + "\n";
    text += without_end_spaces(footer) + "\n";
  }
  return text;
}

}  // namespace octavo::serve
