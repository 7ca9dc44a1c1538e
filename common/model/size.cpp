#include "common/model/size.h"

namespace octavo::model {
namespace {

std::int64_t attention_of_layer(const ModelConfig& c) {
  if (!c.mla) {
    const std::int64_t q_and_o = 2 * c.width * c.heads * c.head_width;
    return q_and_o + 2 * c.width * c.kv_heads * c.head_width;
  }
  const MlaConfig& m = *c.mla;
  const std::int64_t q_width = c.heads * (m.nope + m.rope);
  const std::int64_t q = m.q_rank > 0 ? c.width * m.q_rank + m.q_rank * q_width : c.width * q_width;
  const std::int64_t kv = c.width * (m.kv_rank + m.rope) + m.kv_rank * c.heads * (m.nope + m.v);
  return q + kv + c.heads * m.v * c.width;
}

std::int64_t norms_of_layer(const ModelConfig& c) {
  return 2 * c.width + (c.mla ? c.mla->q_rank + c.mla->kv_rank : 0);
}

// Adds one layer's parameters to `count`.
void add_layer(const ModelConfig& c, std::int64_t layer, ParameterCount& count) {
  count.attention += attention_of_layer(c);
  count.norms += norms_of_layer(c);
  if (!c.is_moe_layer(layer)) {
    count.dense_ffn += 3 * c.width * c.ffn_width;
    return;
  }
  const MoeConfig& m = *c.moe;
  count.router += c.width * m.experts + (m.selection_bias ? m.experts : 0);
  count.routed_experts += m.experts * 3 * c.width * m.width;
  count.shared_experts += m.shared_experts * 3 * c.width * m.width;
}

// One module: norms of the hidden state and of the next embedding, their projection 2D -> D, a
// layer, a last norm.
std::int64_t mtp_module(const ModelConfig& c) {
  ParameterCount count;
  add_layer(c, c.layers, count);
  return count.total() + 2 * c.width + 2 * c.width * c.width + c.width;
}

}  // namespace

ModelSize size_of(const ModelConfig& c) {
  ModelSize size;
  ParameterCount& p = size.parameters;
  p.embedding = c.vocab * c.width;
  p.head = c.tied_embeddings ? 0 : c.vocab * c.width;
  p.norms = c.width;
  for (std::int64_t layer = 0; layer < c.layers; ++layer) add_layer(c, layer, p);
  size.active = p;
  if (c.moe) size.active.routed_experts = p.routed_experts / c.moe->experts * c.moe->top_k;
  size.mtp = c.mtp_layers * (c.mtp_layers > 0 ? mtp_module(c) : 0);
  size.weight_bytes = p.total() * bytes_of(c.dtype);
  size.mtp_bytes = size.mtp * bytes_of(c.dtype);
  size.kv_bytes_per_token = kv_bytes_per_token(c, c.dtype);
  size.kv_bytes_full_context = size.kv_bytes_per_token * c.max_context;
  return size;
}

std::int64_t kv_bytes_per_token(const ModelConfig& c, DType dtype) {
  const std::int64_t elements =
      c.mla ? c.mla->kv_rank + c.mla->rope : 2 * c.kv_heads * c.head_width;
  return c.layers * elements * bytes_of(dtype);
}

}  // namespace octavo::model
