#pragma once
// The texts of `octavo inspect`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/model/config.h"
#include "common/model/size.h"

namespace octavo::serve {

// "46.70 B", "2.81 M", "512": parameters and FLOPs with three or four digits and a decimal prefix.
std::string with_prefix(double value);

// One line: architecture, layers, widths, heads, experts.
std::string shape_text(const model::ModelConfig& config);

// Parameters by kind: total, share of all and of the blocks (all but embedding, head and last
// norm), active a token.
std::string parameter_table(const model::ModelConfig& config, const model::ModelSize& size);

// Multiply-adds a token as FLOPs: projections, FFN, the score and value terms at `context`
// positions, head.
std::string flops_table(const model::ModelConfig& config, std::int64_t context);

// Bytes of the weights and of the KV cache; with `memory` bytes, the tokens that fit beside the
// weights.
std::string memory_text(const model::ModelConfig& config, const model::ModelSize& size,
                        std::optional<double> memory);

// Bars of each expert's share of a layer's slots, four layers side by side. counts [MoE layers][E];
// `layers` their numbers.
std::string expert_load_bars(const std::vector<std::int64_t>& layers,
                             const std::vector<std::vector<std::int64_t>>& counts);

}  // namespace octavo::serve
