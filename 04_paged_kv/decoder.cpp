#include "04_paged_kv/decoder.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "04_paged_kv/rms_norm.h"
#include "common/base/error.h"

namespace octavo {
namespace {

template <class T>
void copy_row(const void* table, std::int64_t row, std::int64_t width, float* out) {
  const T* from = static_cast<const T*>(table) + row * width;
  for (std::int64_t d = 0; d < width; ++d) out[d] = static_cast<float>(from[d]);
}

}  // namespace

void ForwardObserver::residual(std::int64_t, View<const float, 2>) {}
void ForwardObserver::routing(std::int64_t, const RoutingPlan&) {}

Decoder::Decoder(std::shared_ptr<const model::Checkpoint> checkpoint, const LinearFactory& factory,
                 std::unique_ptr<AttentionBackend> attention)
    : checkpoint_(std::move(checkpoint)) {
  const model::ModelConfig& c = config();
  require(!c.rope_scaling,
          "rope_scaling is set; stretched rotary angles can be inspected but not run");
  require(c.quantization.empty(),
          "quantization_config names '{}'; quantized weights can be inspected but not run",
          c.quantization);
  const LayerLoader load(*checkpoint_, factory, std::move(attention));
  embedding_ = load.matrix("model.embed_tokens.weight", c.vocab, c.width);
  for (std::int64_t l = 0; l < c.layers; ++l) layers_.push_back(load.layer(l));
  final_norm_ = load.vector("model.norm.weight", c.width);
  head_ = c.tied_embeddings ? factory.make(embedding_)
                            : load.linear("lm_head.weight", c.vocab, c.width);
  for (std::int64_t i = 0; i < c.mtp_layers; ++i) {
    if (MtpModule::stored(*checkpoint_, i)) mtp_.emplace_back(load, c, i);
  }
}

KvShape Decoder::kv_shape() const {
  const model::ModelConfig& c = config();
  if (!c.mla) return {.layers = c.layers, .kv_heads = c.kv_heads, .head_width = c.head_width};
  return {.layers = c.layers,
          .kv_heads = 1,
          .head_width = c.mla->kv_rank + c.mla->rope,
          .latent = c.mla->kv_rank};
}

std::int64_t Decoder::workspace(std::int64_t T) const {
  std::int64_t most = head_->workspace(T);
  for (const DecoderLayer& layer : layers_) most = std::max(most, layer.workspace(T));
  for (const MtpModule& module : mtp_) most = std::max(most, module.workspace(T));
  return most;
}

void Decoder::observe(ForwardObserver* observer) {
  observer_ = observer;
  const auto routing_of =
      [observer](std::int64_t layer) -> std::function<void(const RoutingPlan&)> {
    if (observer == nullptr) return {};
    return [observer, layer](const RoutingPlan& plan) { observer->routing(layer, plan); };
  };
  std::int64_t index = 0;
  for (DecoderLayer& layer : layers_) {
    if (layer.moe != nullptr) layer.moe->observe(routing_of(index));
    ++index;
  }
  for (MtpModule& module : mtp_) module.observe(routing_of(index++));
}

std::vector<float> Decoder::forward(Exec& exec, const Batch& batch, KvCache& cache) const {
  const std::vector<float> states = hidden(exec, batch, cache);
  const std::int64_t D = config().width;
  std::vector<float> picked;
  for (std::int64_t row : batch.logit_rows) {
    picked.insert(picked.end(), states.begin() + row * D, states.begin() + (row + 1) * D);
  }
  return logits(exec, View<const float, 2>(picked, {std::ssize(batch.logit_rows), D}));
}

std::vector<float> Decoder::hidden(Exec& exec, const Batch& batch, KvCache& cache) const {
  for (std::int64_t position : batch.positions) {
    require(position >= 0 && position < config().max_context,
            "position {} is outside the context of {}", position, config().max_context);
  }
  std::vector<float> residual = embed(batch.tokens);
  const View<float, 2> x(residual, {batch.rows(), config().width});
  if (observer_) observer_->residual(0, x);
  for (std::int64_t l = 0; l < config().layers; ++l) {
    layers_[static_cast<std::size_t>(l)].forward(exec, l, batch, cache, x);
    if (observer_) observer_->residual(l + 1, x);
  }
  rms_norm_reference(x, final_norm_, config().rms_eps, x);
  return residual;
}

std::vector<float> Decoder::logits(Exec& exec, View<const float, 2> hidden) const {
  std::vector<float> result(static_cast<std::size_t>(hidden.extent(0) * config().vocab));
  head_->forward(exec, hidden, View<float, 2>(result, {hidden.extent(0), config().vocab}));
  return result;
}

std::vector<float> Decoder::embed(std::span<const int> tokens) const {
  const std::int64_t D = config().width;
  std::vector<float> x(tokens.size() * static_cast<std::size_t>(D));
  float* out = x.data();
  for (int token : tokens) {
    require(token >= 0 && token < config().vocab, "token id {} is outside the vocabulary of {}",
            token, config().vocab);
    switch (embedding_.dtype()) {
      case DType::kF32:
        copy_row<float>(embedding_.data(), token, D, out);
        break;
      case DType::kF16:
        copy_row<half>(embedding_.data(), token, D, out);
        break;
      case DType::kBF16:
        copy_row<bf16>(embedding_.data(), token, D, out);
        break;
    }
    out += D;
  }
  return x;
}

}  // namespace octavo
