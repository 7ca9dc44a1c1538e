#pragma once
// Decoder: a pre-norm transformer decoder over a KvCache. Its layers attend over keys and values
// (Llama, Mixtral) or over latents (DeepSeek-V3), and are dense or sparse.

#include <memory>
#include <span>
#include <vector>

#include "04_paged_kv/attention.h"
#include "04_paged_kv/batch.h"
#include "04_paged_kv/decoder_layer.h"
#include "04_paged_kv/kv_cache.h"
#include "04_paged_kv/mtp.h"
#include "common/model/checkpoint.h"

namespace octavo {

// Sees a forward from inside: for golden values, statistics of the experts, and the curious.
class ForwardObserver {
 public:
  virtual ~ForwardObserver() = default;
  // The residual stream [T, D] after `layers` layers; 0 is the embedding.
  virtual void residual(std::int64_t layers, View<const float, 2> x);
  // The plan of an MoE layer; of module i of multi-token prediction as layer L + i.
  virtual void routing(std::int64_t layer, const RoutingPlan& plan);
};

class Decoder {
 public:
  // Reads every weight the config asks for, each through `factory`. `attention` computes
  // equation 3. Throws Error for a tensor that is missing or has another shape, and for an
  // architecture whose layers are not here.
  Decoder(std::shared_ptr<const model::Checkpoint> checkpoint, const LinearFactory& factory,
          std::unique_ptr<AttentionBackend> attention);

  const model::ModelConfig& config() const { return checkpoint_->config(); }
  KvShape kv_shape() const;

  // Bytes of exec.workspace that a batch of up to T rows takes.
  std::int64_t workspace(std::int64_t T) const;

  // Runs the batch, writes its keys and values into the cache, and returns logits [logit_rows, V],
  // row-major. A row's logits do not depend on what else is in the batch, on how its prompt was
  // cut, or on where its blocks lie. Throws Error for a token id outside the vocabulary or a
  // position beyond the context.
  std::vector<float> forward(Exec& exec, const Batch& batch, KvCache& cache) const;

  // The same in two parts: the last hidden states [T, D] of all rows, after the final norm, and the
  // logits [R, V] of such states [R, D].
  std::vector<float> hidden(Exec& exec, const Batch& batch, KvCache& cache) const;
  std::vector<float> logits(Exec& exec, View<const float, 2> hidden) const;

  // [n, D]. Throws Error for an id outside the vocabulary.
  std::vector<float> embed(std::span<const int> tokens) const;

  // The multi-token-prediction modules; empty when the config names none, or the checkpoint was
  // stored without them.
  const std::vector<MtpModule>& mtp() const { return mtp_; }

  // Null to stop. The observer must outlive its registration.
  void observe(ForwardObserver* observer);

 private:
  std::shared_ptr<const model::Checkpoint> checkpoint_;
  TensorView embedding_;
  std::vector<DecoderLayer> layers_;
  std::vector<float> final_norm_;
  std::unique_ptr<Linear> head_;
  std::vector<MtpModule> mtp_;
  ForwardObserver* observer_ = nullptr;
};

}  // namespace octavo
