#include "04_paged_kv/mtp.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "04_paged_kv/rms_norm.h"
#include "common/base/error.h"

namespace octavo {
namespace {

// The module's copy must hold what the model's own matrix holds, element for element.
void require_shared(const LayerLoader& load, const std::string& copy, const std::string& own,
                    const model::ModelConfig& c) {
  const TensorView a = load.matrix(copy, c.vocab, c.width), b = load.matrix(own, c.vocab, c.width);
  require(a.dtype() == b.dtype() &&
              std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0,
          "{} differs from {}, which the module shares", copy, own);
}

std::string prefix(const model::ModelConfig& c, std::int64_t index) {
  return fmt::format("model.layers.{}.", c.layers + index);
}

}  // namespace

MtpModule::MtpModule(const LayerLoader& load, const model::ModelConfig& c, std::int64_t index)
    : epsilon_(c.rms_eps) {
  const std::string at = prefix(c, index);
  embedding_norm_ = load.vector(at + "enorm.weight", c.width);
  hidden_norm_ = load.vector(at + "hnorm.weight", c.width);
  projection_ = load.linear(at + "eh_proj.weight", c.width, 2 * c.width);
  layer_ = load.layer(c.layers + index);
  final_norm_ = load.vector(at + "shared_head.norm.weight", c.width);
  const std::string embedding = "model.embed_tokens.weight";
  require_shared(load, at + "embed_tokens.weight", embedding, c);
  require_shared(load, at + "shared_head.head.weight",
                 c.tied_embeddings ? embedding : "lm_head.weight", c);
}

bool MtpModule::stored(const model::Checkpoint& checkpoint, std::int64_t index) {
  const std::string at = prefix(checkpoint.config(), index);
  return std::ranges::any_of(checkpoint.names(),
                             [&](const std::string& name) { return name.starts_with(at); });
}

std::int64_t MtpModule::workspace(std::int64_t T) const {
  return std::max(projection_->workspace(T), layer_.workspace(T));
}

void MtpModule::observe(std::function<void(const RoutingPlan&)> observer) {
  if (layer_.moe != nullptr) layer_.moe->observe(std::move(observer));
}

std::vector<float> MtpModule::forward(Exec& exec, const Batch& batch, View<const float, 2> embedded,
                                      View<const float, 2> hidden, KvCache& cache) const {
  const std::int64_t T = batch.rows(), D = projection_->outputs();
  require(
      embedded.extent(0) == T && embedded.extent(1) == D && hidden.extents() == embedded.extents(),
      "multi-token prediction: embeddings [{}, {}] and hidden states [{}, {}], must be [{}, {}]",
      embedded.extent(0), embedded.extent(1), hidden.extent(0), hidden.extent(1), T, D);
  std::vector<float> both(static_cast<std::size_t>(T * 2 * D)), x(static_cast<std::size_t>(T * D));
  for (std::int64_t t = 0; t < T; ++t) {  // the embedding first
    float* const row = both.data() + t * 2 * D;
    rms_norm_reference(embedded.rows(t, t + 1), embedding_norm_, epsilon_, {row, {1, D}});
    rms_norm_reference(hidden.rows(t, t + 1), hidden_norm_, epsilon_, {row + D, {1, D}});
  }
  const View<float, 2> residual(x, {T, D});
  projection_->forward(exec, View<const float, 2>(both, {T, 2 * D}), residual);
  layer_.forward(exec, 0, batch, cache, residual);
  rms_norm_reference(residual, final_norm_, epsilon_, residual);
  return x;
}

}  // namespace octavo
