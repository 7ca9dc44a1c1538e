#include "serve/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "common/base/counted.h"

namespace octavo::serve {
namespace {

constexpr std::size_t kTitle = 22;   // columns of a row's title
constexpr std::size_t kWidth = 100;  // columns of a line at most

// Shares over the even share at which the next shade begins.
constexpr double kSteps[] = {0.25, 0.75, 1.5, 3};
constexpr std::string_view kShades[] = {" ", "░", "▒", "▓", "█"};

std::string_view shade(double over_even) {
  std::size_t level = 0;
  while (level < std::size(kSteps) && over_even >= kSteps[level]) ++level;
  return kShades[level];
}

// The first characters of a text; whole ones, since titles are in UTF-8.
std::string shortened(const std::string& text) {
  std::size_t characters = 0, bytes = 0;
  while (bytes < text.size() && characters < kTitle) {
    do ++bytes;
    while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80);
    ++characters;
  }
  return text.substr(0, bytes) + std::string(kTitle - characters, ' ');
}

// The cells of one prompt in one layer.
std::string cells(const std::vector<std::int64_t>& counts, std::size_t width) {
  const std::int64_t slots = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const double even =
      static_cast<double>(std::max<std::int64_t>(slots, 1)) / static_cast<double>(counts.size());
  std::string text;
  for (std::int64_t count : counts) {
    for (std::size_t i = 0; i < width; ++i) text += shade(static_cast<double>(count) / even);
  }
  return text;
}

}  // namespace

std::string expert_heat_map(const std::vector<std::int64_t>& layers,
                            const std::vector<ExpertUse>& prompts) {
  if (prompts.empty() || layers.empty()) return "";
  const std::size_t experts = prompts.front().counts.front().size();
  const std::size_t cell = experts <= 8 ? 2 : 1, block = experts * cell + 2;
  const std::size_t beside = std::max<std::size_t>(1, (kWidth - kTitle) / block);
  std::string text;
  for (std::size_t first = 0; first < layers.size(); first += beside) {
    const std::size_t end = std::min(first + beside, layers.size());
    std::string heading(kTitle, ' ');
    for (std::size_t l = first; l < end; ++l) {
      heading += fmt::format("  {:<{}}", fmt::format("layer {}", layers[l]), block - 2);
    }
    text += heading.substr(0, heading.find_last_not_of(' ') + 1) + "\n";
    for (const ExpertUse& prompt : prompts) {
      text += shortened(prompt.title);
      for (std::size_t l = first; l < end; ++l) text += "  " + cells(prompt.counts[l], cell);
      text += "\n";
    }
  }
  return text +
         fmt::format("{} a layer, left to right; their use over the even share:\n",
                     counted(experts, "expert")) +
         "' ' below 1/4, ░ below 3/4, ▒ below 1.5, ▓ below 3, █ above\n";
}

}  // namespace octavo::serve
