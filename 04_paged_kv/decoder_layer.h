#pragma once
// One layer of a decoder: attention and a feed-forward layer, each behind a norm and added to the
// residual stream.

#include <memory>
#include <vector>

#include "02_sparse_moe/moe.h"
#include "04_paged_kv/attention.h"
#include "04_paged_kv/attention_layer.h"
#include "common/model/checkpoint.h"

namespace octavo {

struct DecoderLayer {
  std::vector<float> attention_norm = {}, ffn_norm = {};  // [D]
  double epsilon = 0;                                     // of both
  std::unique_ptr<AttentionLayer> attention = {};
  std::unique_ptr<FeedForward> ffn = {};
  MoeLayer* moe = nullptr;  // ffn, or the routed part of it, where the layer is sparse, else null

  std::int64_t workspace(std::int64_t T) const;

  // x [T, D], in place; `layer` of the cache is this layer's.
  void forward(Exec& exec, std::int64_t layer, const Batch& batch, KvCache& cache,
               View<float, 2> x) const;
};

// Reads the parts of a decoder from a checkpoint, under the names in which Llama, Mixtral and
// DeepSeek-V3 are published. Keeps references; matrices borrow the checkpoint's mapping.
class LayerLoader {
 public:
  LayerLoader(const model::Checkpoint& checkpoint, const LinearFactory& factory,
              std::shared_ptr<const AttentionBackend> attention);

  // Each throws Error when the tensor is missing or has another shape.
  TensorView matrix(const std::string& name, std::int64_t outputs, std::int64_t inputs) const;
  std::unique_ptr<Linear> linear(const std::string& name, std::int64_t outputs,
                                 std::int64_t inputs) const;
  std::vector<float> vector(const std::string& name, std::int64_t size) const;

  // Layer `index` of the config, or a multi-token-prediction module's, whose index is L or more.
  DecoderLayer layer(std::int64_t index) const;

 private:
  std::unique_ptr<AttentionLayer> gqa(const std::string& at) const;
  std::unique_ptr<AttentionLayer> mla(const std::string& at) const;
  // `names`: gate, up and down.
  FfnWeights swiglu(const std::string& at, const char* const (&names)[3], std::int64_t width) const;
  std::unique_ptr<MoeLayer> routed(const std::string& at, const char* const (&names)[3],
                                   std::unique_ptr<Router> router) const;
  void set_ffn(DecoderLayer& layer, std::int64_t index, const std::string& at) const;

  const model::Checkpoint& checkpoint_;
  const LinearFactory& factory_;
  const model::ModelConfig& c_;
  std::shared_ptr<const AttentionBackend> attention_;
};

}  // namespace octavo
