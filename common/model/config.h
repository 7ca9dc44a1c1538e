#pragma once
// config.json of a Hugging Face checkpoint as numbers that have been checked. What decides the
// arithmetic (sizes, routing, scaling) must be in the file: a missing field is an error, never a
// default.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/numbers.h"

namespace octavo::model {

enum class Architecture { kLlama, kMixtral, kDeepseekV3 };

// The class name that config.json gives: "LlamaForCausalLM", "MixtralForCausalLM",
// "DeepseekV3ForCausalLM".
std::string_view name_of(Architecture architecture);

enum class Scoring { kSoftmax, kSigmoid };

// The sparse layers. An expert is a gated FFN of three matrices, D x width each.
struct MoeConfig {
  std::int64_t experts = 0;  // E, routed
  std::int64_t top_k = 0;    // routed experts a token
  std::int64_t width = 0;    // F of one expert
  std::int64_t shared_experts =
      0;                         // run for every token; stored as one FFN of shared_experts * width
  std::int64_t first_dense = 0;  // layers [0, first_dense) have a dense FFN
  bool normalize = false;        // the top_k weights are divided by their sum
  double scaling = 1;            // factor on the routed sum
  Scoring scoring = Scoring::kSoftmax;
  std::int64_t groups = 1;      // experts are chosen inside the best top_groups of these
  std::int64_t top_groups = 1;  // a group's score is the sum of its two best experts
  bool selection_bias = false;  // a learned bias an expert, added for the selection only
};

// Multi-head latent attention (DeepSeek-V2, section 2.1). Queries and keys have nope + rope
// elements a head, values v.
struct MlaConfig {
  // of the compressed queries; 0: queries come from one D x H*(nope+rope) matrix
  std::int64_t q_rank = 0;
  // of the compressed keys and values: what the cache holds, with the rope key
  std::int64_t kv_rank = 0;
  std::int64_t nope = 0;
  std::int64_t rope = 0;
  std::int64_t v = 0;
  // rotated pairs are neighbours (2i, 2i+1) in the stored rows, not (i, i + rope/2)
  bool rope_interleaved = true;
};

// How the rotary angles are stretched beyond the trained context. Fields that a kind does not name
// stay 0.
struct RopeScaling {
  enum class Kind { kLinear, kLlama3, kYarn };
  Kind kind = Kind::kLinear;
  double factor = 1;
  std::int64_t original_context = 0;             // kLlama3, kYarn
  double low_frequency = 0, high_frequency = 0;  // kLlama3
  double beta_fast = 0, beta_slow = 0;           // kYarn, section 3.2 of the YaRN paper
  double mscale = 0, mscale_all_dimensions = 0;  // kYarn, as DeepSeek-V2 and V3 use them
};

struct ModelConfig {
  Architecture architecture = Architecture::kLlama;
  std::int64_t vocab = 0;       // V
  std::int64_t width = 0;       // D
  std::int64_t layers = 0;      // L, without the MTP modules
  std::int64_t ffn_width = 0;   // F of the dense layers; 0 when every layer is sparse
  std::int64_t heads = 0;       // H
  std::int64_t kv_heads = 0;    // Hkv; divides H
  std::int64_t head_width = 0;  // Dh; of queries and keys, nope + rope with MLA
  std::int64_t max_context = 0;
  double rms_eps = 0;
  double rope_theta = 0;
  std::optional<RopeScaling> rope_scaling;
  bool tied_embeddings = false;
  std::optional<int> bos;
  std::vector<int> eos;
  std::optional<MoeConfig> moe;
  std::optional<MlaConfig> mla;
  std::int64_t mtp_layers = 0;  // multi-token prediction modules, stored as layers L, L+1, ...
  DType dtype = DType::kBF16;   // of the stored weights, where they are not quantized
  std::string quantization;     // quant_method of quantization_config; empty when there is none

  // True for MTP layers (layer >= layers) too.
  bool is_moe_layer(std::int64_t layer) const { return moe && layer >= moe->first_dense; }
};

// Reads the text of a config.json; `origin` starts every message. Throws Error, naming the field,
// its value and the limit, for an unknown architecture, a missing field, sizes that are absurd or
// do not fit each other, and anything the architectures above can express but this project does not
// compute (a bias on a projection, a sliding window, another activation).
ModelConfig parse_config(std::string_view json, std::string_view origin);
ModelConfig load_config(const std::filesystem::path& config_json);

}  // namespace octavo::model
