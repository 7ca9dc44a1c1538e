#pragma once
// Which experts several prompts use, side by side: one row a prompt, one column an expert, one
// block a layer.

#include <cstdint>
#include <string>
#include <vector>

namespace octavo::serve {

// What one prompt's tokens used: counts [MoE layers][E].
struct ExpertUse {
  std::string title;  // shortened to fit
  std::vector<std::vector<std::int64_t>> counts;
};

// `layers`: the numbers of the MoE layers. A cell is shaded by the expert's share of the prompt's
// slots in a layer, over the share that it would have if all had the same. All prompts have the
// same layers and experts.
std::string expert_heat_map(const std::vector<std::int64_t>& layers,
                            const std::vector<ExpertUse>& prompts);

}  // namespace octavo::serve
