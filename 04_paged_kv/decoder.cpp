#include "04_paged_kv/decoder.h"

#include <algorithm>

#include "04_paged_kv/rms_norm.h"
#include "04_paged_kv/rope.h"
#include "common/base/error.h"

namespace octavo {
namespace {

void add(View<float, 2> x, const std::vector<float>& y) {
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] += y[static_cast<std::size_t>(i)];
}

template <class T>
void copy_row(const void* table, std::int64_t row, std::int64_t width, float* out) {
  const T* from = static_cast<const T*>(table) + row * width;
  for (std::int64_t d = 0; d < width; ++d) out[d] = static_cast<float>(from[d]);
}

}  // namespace

void ForwardObserver::residual(std::int64_t, View<const float, 2>) {}
void ForwardObserver::routing(std::int64_t, const RoutingPlan&) {}

KvShape Decoder::kv_shape() const {
  return {
      .layers = config().layers, .kv_heads = config().kv_heads, .head_width = config().head_width};
}

std::int64_t Decoder::workspace(std::int64_t T) const {
  std::int64_t most = head_->workspace(T);
  for (const DecoderLayer& w : layers_) {
    for (const Linear* linear : {w.query.get(), w.key.get(), w.value.get(), w.output.get()}) {
      most = std::max(most, linear->workspace(T));
    }
    most = std::max(most, w.ffn->workspace(T));
  }
  return most;
}

void Decoder::observe(ForwardObserver* observer) {
  observer_ = observer;
  for (std::int64_t l = 0; l < config().layers; ++l) {
    MoeLayer* moe = layers_[static_cast<std::size_t>(l)].moe;
    if (moe == nullptr) continue;
    if (observer == nullptr) {
      moe->observe({});
    } else {
      moe->observe([observer, l](const RoutingPlan& plan) { observer->routing(l, plan); });
    }
  }
}

std::vector<float> Decoder::forward(Exec& exec, const Batch& batch, KvCache& cache) const {
  check(batch);
  std::vector<float> residual = embed(batch);
  const View<float, 2> x(residual, {batch.rows(), config().width});
  if (observer_) observer_->residual(0, x);
  for (std::int64_t l = 0; l < config().layers; ++l) {
    attention_block(exec, l, batch, cache, x);
    ffn_block(exec, l, x);
    if (observer_) observer_->residual(l + 1, x);
  }
  return logits(exec, batch, x);
}

void Decoder::check(const Batch& batch) const {
  for (int token : batch.tokens) {
    require(token >= 0 && token < config().vocab, "token id {} is outside the vocabulary of {}",
            token, config().vocab);
  }
  for (std::int64_t position : batch.positions) {
    require(position >= 0 && position < config().max_context,
            "position {} is outside the context of {}", position, config().max_context);
  }
}

std::vector<float> Decoder::embed(const Batch& batch) const {
  const std::int64_t D = config().width;
  std::vector<float> x(static_cast<std::size_t>(batch.rows() * D));
  for (std::int64_t t = 0; t < batch.rows(); ++t) {
    const std::int64_t token = batch.tokens[static_cast<std::size_t>(t)];
    float* out = x.data() + t * D;
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
  }
  return x;
}

void Decoder::attention_block(Exec& exec, std::int64_t layer, const Batch& batch, KvCache& cache,
                              View<float, 2> x) const {
  const model::ModelConfig& c = config();
  const DecoderLayer& w = layers_[static_cast<std::size_t>(layer)];
  const std::int64_t T = x.extent(0), D = c.width, H = c.heads, Hkv = c.kv_heads, Dh = c.head_width;
  const auto floats = [T](std::int64_t row) {
    return std::vector<float>(static_cast<std::size_t>(T * row));
  };
  std::vector<float> h = floats(D), q = floats(H * Dh), k = floats(Hkv * Dh), v = floats(Hkv * Dh);
  std::vector<float> a = floats(H * Dh), o = floats(D);

  rms_norm_reference(x, w.attention_norm, c.rms_eps, View<float, 2>(h, {T, D}));
  const View<const float, 2> normed(h, {T, D});
  w.query->forward(exec, normed, View<float, 2>(q, {T, H * Dh}));
  w.key->forward(exec, normed, View<float, 2>(k, {T, Hkv * Dh}));
  w.value->forward(exec, normed, View<float, 2>(v, {T, Hkv * Dh}));
  rope_reference(View<float, 3>(q, {T, H, Dh}), batch.positions, c.rope_theta);
  rope_reference(View<float, 3>(k, {T, Hkv, Dh}), batch.positions, c.rope_theta);
  cache.write(layer, batch.slot_mapping, View<float, 3>(k, {T, Hkv, Dh}),
              View<float, 3>(v, {T, Hkv, Dh}));
  attention_->attend(exec, layer, batch, cache, View<float, 3>(q, {T, H, Dh}),
                     View<float, 3>(a, {T, H, Dh}));
  w.output->forward(exec, View<const float, 2>(a, {T, H * Dh}), View<float, 2>(o, {T, D}));
  add(x, o);
}

void Decoder::ffn_block(Exec& exec, std::int64_t layer, View<float, 2> x) const {
  const DecoderLayer& w = layers_[static_cast<std::size_t>(layer)];
  std::vector<float> h(static_cast<std::size_t>(x.size())), y(h.size());
  rms_norm_reference(x, w.ffn_norm, config().rms_eps, View<float, 2>(h, x.extents()));
  w.ffn->forward(exec, View<const float, 2>(h, x.extents()), View<float, 2>(y, x.extents()));
  add(x, y);
}

std::vector<float> Decoder::logits(Exec& exec, const Batch& batch, View<const float, 2> x) const {
  const auto rows = static_cast<std::int64_t>(batch.logit_rows.size());
  const std::int64_t D = config().width, V = config().vocab;
  std::vector<float> picked, normed(static_cast<std::size_t>(rows * D)),
      result(static_cast<std::size_t>(rows * V));
  for (std::int64_t row : batch.logit_rows)
    picked.insert(picked.end(), x(row).data(), x(row).data() + D);
  rms_norm_reference(View<const float, 2>(picked, {rows, D}), final_norm_, config().rms_eps,
                     View<float, 2>(normed, {rows, D}));
  head_->forward(exec, View<const float, 2>(normed, {rows, D}), View<float, 2>(result, {rows, V}));
  return result;
}

}  // namespace octavo
