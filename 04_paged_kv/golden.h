#pragma once
// Golden values of an embedded checkpoint: golden.json, written by common/checkpoints/golden.py
// with transformers. For tests; common/checkpoints/README.md describes the fields.

#include <cctype>
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
  // Of a checkpoint with a multi-token-prediction module, fed the prompt and greedy[0]: logits [V]
  // of its last row, and its experts [T * k].
  std::vector<float> mtp_logits;
  std::vector<int> mtp_experts;
};

// Every checkpoint that comes with the repository.
inline constexpr const char* kEmbeddedModels[] = {"tiny-moe", "tiny-mla", "tiny-draft",
                                                  "tiny-draft-domain"};

inline std::filesystem::path embedded_model(const std::string& name) {
  return std::filesystem::path(OCTAVO_SOURCE_DIR) / "common/checkpoints" / name;
}

// "TinyMoe" of "tiny-moe": what GoogleTest takes for a name.
inline std::string test_name(const std::string& name) {
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '-' || name[i] == '_') continue;
    const bool starts = i == 0 || name[i - 1] == '-' || name[i - 1] == '_';
    result += starts ? static_cast<char>(std::toupper(name[i])) : name[i];
  }
  return result;
}

inline std::vector<int> flattened(const nlohmann::json& rows) {
  std::vector<int> ids;
  for (const nlohmann::json& row : rows) {
    for (int id : row) ids.push_back(id);
  }
  return ids;
}

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
                        .greedy = p.at("greedy"),
                        .mtp_logits = {},
                        .mtp_experts = {}};
    for (const nlohmann::json& layer : p.at("experts")) prompt.experts.push_back(flattened(layer));
    if (p.contains("mtp_logits")) {
      prompt.mtp_logits = p.at("mtp_logits").get<std::vector<float>>();
      prompt.mtp_experts = flattened(p.at("mtp_experts"));
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
