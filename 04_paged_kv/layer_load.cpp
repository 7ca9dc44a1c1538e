// From a checkpoint's tensors to the layers of a decoder.

#include <string>
#include <utility>

#include "03_switch_deepseek_routing/deepseek_versions.h"
#include "03_switch_deepseek_routing/shared_experts.h"
#include "04_paged_kv/decoder_layer.h"
#include "04_paged_kv/gqa.h"
#include "04_paged_kv/mla.h"
#include "common/base/error.h"

namespace octavo {
namespace {

constexpr const char* kLlamaNames[] = {"gate_proj", "up_proj", "down_proj"};
constexpr const char* kMixtralNames[] = {"w1", "w3", "w2"};

}  // namespace

LayerLoader::LayerLoader(const model::Checkpoint& checkpoint, const LinearFactory& factory,
                         std::shared_ptr<const AttentionBackend> attention)
    : checkpoint_(checkpoint),
      factory_(factory),
      c_(checkpoint.config()),
      attention_(std::move(attention)) {}

TensorView LayerLoader::matrix(const std::string& name, std::int64_t outputs,
                               std::int64_t inputs) const {
  const model::TensorView& t = checkpoint_.tensor(name, {outputs, inputs});
  return {const_cast<std::byte*>(t.data), t.dtype, {outputs, inputs}};  // nobody writes to it
}

std::unique_ptr<Linear> LayerLoader::linear(const std::string& name, std::int64_t outputs,
                                            std::int64_t inputs) const {
  return factory_.make(matrix(name, outputs, inputs));
}

std::vector<float> LayerLoader::vector(const std::string& name, std::int64_t size) const {
  return model::to_float(checkpoint_.tensor(name, {size}));
}

DecoderLayer LayerLoader::layer(std::int64_t index) const {
  const std::string at = fmt::format("model.layers.{}.", index);
  DecoderLayer layer;
  layer.epsilon = c_.rms_eps;
  layer.attention_norm = vector(at + "input_layernorm.weight", c_.width);
  layer.attention = c_.mla ? mla(at + "self_attn.") : gqa(at + "self_attn.");
  layer.ffn_norm = vector(at + "post_attention_layernorm.weight", c_.width);
  set_ffn(layer, index, at);
  return layer;
}

std::unique_ptr<AttentionLayer> LayerLoader::gqa(const std::string& at) const {
  const std::int64_t q = c_.heads * c_.head_width, kv = c_.kv_heads * c_.head_width;
  return std::make_unique<GqaLayer>(GqaWeights{.query = linear(at + "q_proj.weight", q, c_.width),
                                               .key = linear(at + "k_proj.weight", kv, c_.width),
                                               .value = linear(at + "v_proj.weight", kv, c_.width),
                                               .output = linear(at + "o_proj.weight", c_.width, q),
                                               .heads = c_.heads,
                                               .kv_heads = c_.kv_heads,
                                               .head_width = c_.head_width,
                                               .rope_theta = c_.rope_theta},
                                    attention_);
}

std::unique_ptr<AttentionLayer> LayerLoader::mla(const std::string& at) const {
  const model::MlaConfig& m = *c_.mla;
  const std::int64_t q = c_.heads * (m.nope + m.rope), kv = c_.heads * (m.nope + m.v);
  MlaWeights w{.shape = m, .rope_theta = c_.rope_theta};
  if (m.q_rank > 0) {
    w.query_down = linear(at + "q_a_proj.weight", m.q_rank, c_.width);
    w.query_norm = vector(at + "q_a_layernorm.weight", m.q_rank);
    w.query = linear(at + "q_b_proj.weight", q, m.q_rank);
  } else {
    w.query = linear(at + "q_proj.weight", q, c_.width);
  }
  w.kv_down = linear(at + "kv_a_proj_with_mqa.weight", m.kv_rank + m.rope, c_.width);
  w.latent_norm = vector(at + "kv_a_layernorm.weight", m.kv_rank);
  set_kv_up(w, matrix(at + "kv_b_proj.weight", kv, m.kv_rank), c_.heads, factory_);
  w.output = linear(at + "o_proj.weight", c_.width, c_.heads * m.v);
  return std::make_unique<MlaLayer>(std::move(w), attention_);
}

FfnWeights LayerLoader::swiglu(const std::string& at, const char* const (&names)[3],
                               std::int64_t width) const {
  return {.gate = matrix(at + names[0] + ".weight", width, c_.width),
          .up = matrix(at + names[1] + ".weight", width, c_.width),
          .down = matrix(at + names[2] + ".weight", c_.width, width)};
}

std::unique_ptr<MoeLayer> LayerLoader::routed(const std::string& at, const char* const (&names)[3],
                                              std::unique_ptr<Router> router) const {
  std::vector<FfnWeights> experts;
  for (std::int64_t e = 0; e < c_.moe->experts; ++e) {
    experts.push_back(swiglu(fmt::format("{}experts.{}.", at, e), names, c_.moe->width));
  }
  return std::make_unique<MoeLayer>(linear(at + "gate.weight", c_.moe->experts, c_.width),
                                    std::move(router),
                                    make_experts(factory_, experts, c_.moe->top_k));
}

void LayerLoader::set_ffn(DecoderLayer& layer, std::int64_t index, const std::string& at) const {
  if (!c_.is_moe_layer(index)) {
    layer.ffn = factory_.make_ffn(swiglu(at + "mlp.", kLlamaNames, c_.ffn_width));
    return;
  }
  const model::MoeConfig& m = *c_.moe;
  std::unique_ptr<MoeLayer> moe;
  if (m.scoring == model::Scoring::kSoftmax) {
    moe = routed(at + "block_sparse_moe.", kMixtralNames,
                 make_router(factory_, {.experts = m.experts,
                                        .top_k = m.top_k,
                                        .order = SoftmaxOrder::kSoftmaxTopK,
                                        .normalize = m.normalize}));
  } else {
    moe = routed(at + "mlp.", kLlamaNames,
                 make_deepseek_router(factory_,
                                      DeepseekRouting{.experts = m.experts,
                                                      .top_k = m.top_k,
                                                      .groups = m.groups,
                                                      .top_groups = m.top_groups,
                                                      .normalize = m.normalize,
                                                      .scaling = m.scaling},
                                      vector(at + "mlp.gate.e_score_correction_bias", m.experts)));
  }
  layer.moe = moe.get();
  layer.ffn = std::move(moe);
  if (m.shared_experts > 0) {
    layer.ffn = std::make_unique<SharedExpertLayer>(
        std::move(layer.ffn), factory_.make_ffn(swiglu(at + "mlp.shared_experts.", kLlamaNames,
                                                       m.shared_experts * m.width)));
  }
}

}  // namespace octavo
