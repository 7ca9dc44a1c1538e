// From a checkpoint's tensors to a Decoder: the names under which published Llama and Mixtral
// checkpoints store them.

#include <string>
#include <utility>

#include "04_paged_kv/decoder.h"
#include "common/base/error.h"

namespace octavo {
namespace {

using model::Architecture;
using model::Checkpoint;
using model::ModelConfig;

class Loader {
 public:
  Loader(const Checkpoint& checkpoint, const LinearFactory& factory)
      : checkpoint_(checkpoint), factory_(factory), c_(checkpoint.config()) {}

  // [outputs, inputs]; borrows the checkpoint's mapping, which nobody writes to.
  TensorView matrix(const std::string& name, std::int64_t outputs, std::int64_t inputs) const {
    const model::TensorView& t = checkpoint_.tensor(name, {outputs, inputs});
    return {const_cast<std::byte*>(t.data), t.dtype, {outputs, inputs}};
  }

  std::unique_ptr<Linear> linear(const std::string& name, std::int64_t outputs,
                                 std::int64_t inputs) const {
    return factory_.make(matrix(name, outputs, inputs));
  }

  std::vector<float> vector(const std::string& name) const {
    return model::to_float(checkpoint_.tensor(name, {c_.width}));
  }

  DecoderLayer layer(std::int64_t index) const {
    const std::string at = fmt::format("model.layers.{}.", index);
    const std::int64_t q = c_.heads * c_.head_width, kv = c_.kv_heads * c_.head_width;
    DecoderLayer layer;
    layer.attention_norm = vector(at + "input_layernorm.weight");
    layer.query = linear(at + "self_attn.q_proj.weight", q, c_.width);
    layer.key = linear(at + "self_attn.k_proj.weight", kv, c_.width);
    layer.value = linear(at + "self_attn.v_proj.weight", kv, c_.width);
    layer.output = linear(at + "self_attn.o_proj.weight", c_.width, q);
    layer.ffn_norm = vector(at + "post_attention_layernorm.weight");
    if (c_.is_moe_layer(index)) {
      std::unique_ptr<MoeLayer> moe = mixtral_moe(at + "block_sparse_moe.");
      layer.moe = moe.get();
      layer.ffn = std::move(moe);
    } else {
      layer.ffn = swiglu(at + "mlp.", "gate_proj", "up_proj", "down_proj", c_.ffn_width);
    }
    return layer;
  }

 private:
  std::unique_ptr<FeedForward> swiglu(const std::string& at, const char* gate, const char* up,
                                      const char* down, std::int64_t width) const {
    return factory_.make_ffn({.gate = matrix(at + gate + ".weight", width, c_.width),
                              .up = matrix(at + up + ".weight", width, c_.width),
                              .down = matrix(at + down + ".weight", c_.width, width)});
  }

  std::unique_ptr<MoeLayer> mixtral_moe(const std::string& at) const {
    std::vector<std::unique_ptr<FeedForward>> experts;
    for (std::int64_t e = 0; e < c_.moe->experts; ++e) {
      experts.push_back(
          swiglu(fmt::format("{}experts.{}.", at, e), "w1", "w3", "w2", c_.moe->width));
    }
    return std::make_unique<MoeLayer>(
        linear(at + "gate.weight", c_.moe->experts, c_.width),
        std::make_unique<SoftmaxTopKRouter>(c_.moe->experts, c_.moe->top_k, c_.moe->normalize),
        std::make_unique<SeparateExperts>(std::move(experts)));
  }

  const Checkpoint& checkpoint_;
  const LinearFactory& factory_;
  const ModelConfig& c_;
};

}  // namespace

Decoder::Decoder(std::shared_ptr<const Checkpoint> checkpoint, const LinearFactory& factory,
                 std::unique_ptr<AttentionBackend> attention)
    : checkpoint_(std::move(checkpoint)), attention_(std::move(attention)) {
  const ModelConfig& c = checkpoint_->config();
  require(c.architecture == Architecture::kLlama || c.architecture == Architecture::kMixtral,
          "architecture {} can be inspected but not run: only Llama and Mixtral layers are here",
          model::name_of(c.architecture));
  require(!c.rope_scaling,
          "rope_scaling is set; stretched rotary angles can be inspected but not run");
  require(c.quantization.empty(),
          "quantization_config names '{}'; quantized weights can be inspected but not run",
          c.quantization);
  const Loader load(*checkpoint_, factory);
  embedding_ = load.matrix("model.embed_tokens.weight", c.vocab, c.width);
  for (std::int64_t l = 0; l < c.layers; ++l) layers_.push_back(load.layer(l));
  final_norm_ = load.vector("model.norm.weight");
  head_ = c.tied_embeddings ? factory.make(embedding_)
                            : load.linear("lm_head.weight", c.vocab, c.width);
}

}  // namespace octavo
