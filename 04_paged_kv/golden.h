#pragma once
// Golden values of an embedded checkpoint: golden.json, written by common/checkpoints/golden.py
// with transformers. For tests; common/checkpoints/README.md describes the fields.

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace octavo {

struct GoldenPrompt {
  std::string kind, text;
  std::vector<int> ids;
  std::vector<float> logits;              // [V] of the last position
  std::vector<double> residual_norms;     // [L + 1] L2 norm of the last position's residual stream
  std::vector<std::vector<int>> experts;  // [MoE layers][T * k] in descending score
  std::vector<int> greedy;                // the next 32 tokens
};

// All prompts of a checkpoint folder.
inline std::vector<GoldenPrompt> load_golden(const std::filesystem::path& folder) {
  std::vector<GoldenPrompt> prompts;
  const nlohmann::json json = nlohmann::json::parse(std::ifstream(folder / "golden.json"));
  for (const nlohmann::json& p : json.at("prompts")) {
    GoldenPrompt prompt{.kind = p.at("kind"),
                        .text = p.at("text"),
                        .ids = p.at("ids"),
                        .logits = p.at("logits"),
                        .residual_norms = p.at("residual_norms"),
                        .experts = {},
                        .greedy = p.at("greedy")};
    for (const nlohmann::json& layer : p.at("experts")) {
      std::vector<int>& ids = prompt.experts.emplace_back();
      for (const nlohmann::json& row : layer) {
        for (int id : row) ids.push_back(id);
      }
    }
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

// The kinds of prompt that every golden.json has.
inline constexpr const char* kGoldenKinds[] = {"one_token", "odd_length", "long",
                                               "chat",      "multi_byte", "every_special"};

// The prompt of this kind. Throws std::out_of_range when there is none.
inline GoldenPrompt load_golden(const std::filesystem::path& folder, const std::string& kind) {
  for (GoldenPrompt& prompt : load_golden(folder)) {
    if (prompt.kind == kind) return prompt;
  }
  throw std::out_of_range("no golden prompt of kind " + kind);
}

}  // namespace octavo
