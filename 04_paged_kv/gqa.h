#pragma once
// Grouped-query attention (Ainslie et al. 2023): Llama, Mixtral. With as many KV heads as query
// heads it is the multi-head attention of the first transformers.

#include <memory>

#include "01_dense_ffn/linear.h"
#include "04_paged_kv/attention.h"
#include "04_paged_kv/attention_layer.h"

namespace octavo {

struct GqaWeights {
  std::unique_ptr<Linear> query = {};   // [H Dh, D]
  std::unique_ptr<Linear> key = {};     // [Hkv Dh, D]
  std::unique_ptr<Linear> value = {};   // [Hkv Dh, D]
  std::unique_ptr<Linear> output = {};  // [D, H Dh]
  std::int64_t heads = 0;               // H
  std::int64_t kv_heads = 0;            // Hkv
  std::int64_t head_width = 0;          // Dh
  double rope_theta = 0;
};

class GqaLayer : public AttentionLayer {
 public:
  GqaLayer(GqaWeights weights, std::shared_ptr<const AttentionBackend> attention)
      : w_(std::move(weights)), attention_(std::move(attention)) {}
  std::int64_t workspace(std::int64_t T) const override;
  void forward(Exec& exec, std::int64_t layer, const Batch& batch, KvCache& cache,
               View<const float, 2> x, View<float, 2> y) const override;

 private:
  GqaWeights w_;
  std::shared_ptr<const AttentionBackend> attention_;
};

}  // namespace octavo
