#pragma once
// Decoder: a pre-norm transformer decoder over a KvCache, dense (Llama) or sparse (Mixtral).

#include <functional>
#include <memory>
#include <vector>

#include "01_dense_ffn/ffn.h"
#include "01_dense_ffn/linear.h"
#include "02_sparse_moe/moe.h"
#include "04_paged_kv/attention.h"
#include "04_paged_kv/batch.h"
#include "04_paged_kv/kv_cache.h"
#include "common/model/checkpoint.h"

namespace octavo {

// Sees a forward from inside: for golden values, statistics of the experts, and the curious.
class ForwardObserver {
 public:
  virtual ~ForwardObserver() = default;
  // The residual stream [T, D] after `layers` layers; 0 is the embedding.
  virtual void residual(std::int64_t layers, View<const float, 2> x);
  // The plan of an MoE layer.
  virtual void routing(std::int64_t layer, const RoutingPlan& plan);
};

// One block's parts. Norm weights are [D].
struct DecoderLayer {
  std::vector<float> attention_norm, ffn_norm;
  std::unique_ptr<Linear> query, key, value, output;
  std::unique_ptr<FeedForward> ffn;
  MoeLayer* moe = nullptr;  // the same object as ffn where the layer is sparse, else null
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

  // Null to stop. The observer must outlive its registration.
  void observe(ForwardObserver* observer);

 private:
  void check(const Batch& batch) const;
  std::vector<float> embed(const Batch& batch) const;  // [T, D]
  void attention_block(Exec& exec, std::int64_t layer, const Batch& batch, KvCache& cache,
                       View<float, 2> x) const;                            // x += attention
  void ffn_block(Exec& exec, std::int64_t layer, View<float, 2> x) const;  // x += ffn
  std::vector<float> logits(Exec& exec, const Batch& batch, View<const float, 2> x) const;

  std::shared_ptr<const model::Checkpoint> checkpoint_;
  std::unique_ptr<AttentionBackend> attention_;
  TensorView embedding_;
  std::vector<DecoderLayer> layers_;
  std::vector<float> final_norm_;
  std::unique_ptr<Linear> head_;
  ForwardObserver* observer_ = nullptr;
};

}  // namespace octavo
