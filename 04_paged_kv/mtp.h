#pragma once
// A multi-token-prediction module (DeepSeek-V3, arXiv 2412.19437, section 2.2): one more decoder
// layer that looks one token further than the model.

#include <functional>
#include <memory>
#include <vector>

#include "04_paged_kv/decoder_layer.h"

namespace octavo {

class MtpModule {
 public:
  // Module `index` of a checkpoint, stored as layer L + index. The published layer holds copies of
  // the model's embedding and head; Error when they are other than the model's, which it shares.
  MtpModule(const LayerLoader& load, const model::ModelConfig& config, std::int64_t index);

  // Whether the checkpoint has any of the module's tensors: they are often left out.
  static bool stored(const model::Checkpoint& checkpoint, std::int64_t index);

  std::int64_t workspace(std::int64_t T) const;

  // Equation 9 of the README, without the head. Row t combines the model's last hidden state of
  // position p with the embedding of the token at p + 1; the logits of the result (Decoder::logits)
  // predict the token at p + 2. The batch counts positions in the module's own sequence, which
  // starts with the model's second token: its position of row t is p. `cache` is the module's own,
  // of the model's shape with one layer. embedded, hidden [T, D] -> [T, D].
  std::vector<float> forward(Exec& exec, const Batch& batch, View<const float, 2> embedded,
                             View<const float, 2> hidden, KvCache& cache) const;

  // Called with the plan of every forward; empty to stop.
  void observe(std::function<void(const RoutingPlan&)> observer);

 private:
  double epsilon_;
  std::vector<float> embedding_norm_, hidden_norm_, final_norm_;  // [D]
  std::unique_ptr<Linear> projection_;                            // [D, 2D]: embedding, then hidden
  DecoderLayer layer_;
};

}  // namespace octavo
