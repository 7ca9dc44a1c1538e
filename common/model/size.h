#pragma once
// What a model weighs, computed from its config alone: parameters by kind, what one token touches,
// bytes of the weights and of the key-value cache. Exact counts, no file is opened.

#include <cstdint>

#include "common/model/config.h"

namespace octavo::model {

struct ParameterCount {
  std::int64_t embedding = 0;       // V D
  std::int64_t attention = 0;       // all projections
  std::int64_t dense_ffn = 0;       // 3 D F a dense layer
  std::int64_t router = 0;          // D E a sparse layer, and E for a selection bias
  std::int64_t routed_experts = 0;  // 3 D F_expert an expert
  std::int64_t shared_experts = 0;
  std::int64_t norms = 0;  // two a layer, the last one, and those inside latent attention
  std::int64_t head = 0;   // V D, 0 when tied to the embedding

  std::int64_t ffn() const { return dense_ffn + routed_experts + shared_experts; }
  std::int64_t total() const {
    return embedding + attention + dense_ffn + router + routed_experts + shared_experts + norms +
           head;
  }
};

struct ModelSize {
  ParameterCount parameters;  // of the main model, layers [0, L)
  ParameterCount active;      // the same with top_k routed experts a sparse layer. As models are
                          // advertised, the whole embedding counts although a token reads one row
                          // of it: total() - embedding is without.
  // of the MTP modules beside the embedding and the head, which they share with the model
  std::int64_t mtp = 0;

  // parameters.total() in the config's dtype; quantization is not considered
  std::int64_t weight_bytes = 0;
  std::int64_t mtp_bytes = 0;
  std::int64_t kv_bytes_per_token = 0;     // over all layers, in the config's dtype
  std::int64_t kv_bytes_full_context = 0;  // of one sequence of max_context tokens
};

ModelSize size_of(const ModelConfig& config);

// Bytes that one token's keys and values take in all layers, with elements of `dtype`: 2 Hkv Dh
// elements a layer, or, with latent attention, the latent and the one rope key, kv_rank + rope
// (DeepSeek-V2, section 2.1.3).
std::int64_t kv_bytes_per_token(const ModelConfig& config, DType dtype);

}  // namespace octavo::model
