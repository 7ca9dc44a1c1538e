#pragma once
// Multi-head latent attention (DeepSeek-AI 2024, DeepSeek-V2, arXiv 2405.04434, section 2.1) in its
// absorbed form: a position is cached as one latent row c and one rotary key, which all heads
// share. Equations 6 to 8 of the README.

#include <memory>
#include <vector>

#include "01_dense_ffn/linear.h"
#include "04_paged_kv/attention.h"
#include "04_paged_kv/attention_layer.h"
#include "common/model/config.h"

namespace octavo {

struct MlaWeights {
  // [q_rank, D], with query_norm [q_rank]; empty where queries are not compressed
  std::unique_ptr<Linear> query_down = {};
  std::vector<float> query_norm = {};
  std::unique_ptr<Linear> query = {};    // [H (nope + rope), q_rank or D]
  std::unique_ptr<Linear> kv_down = {};  // [kv_rank + rope, D]: the latent, then the rotary key
  std::vector<float> latent_norm = {};   // [kv_rank]
  // A head's part of kv_b_proj: keys are Uk c and values Uv c. Uk is wanted transposed.
  std::vector<std::unique_ptr<Linear>> key_up_transposed = {};  // H of [kv_rank, nope]
  std::vector<std::unique_ptr<Linear>> value_up = {};           // H of [v, kv_rank]
  std::unique_ptr<Linear> output = {};                          // [D, H v]
  std::vector<Tensor> copies = {};                              // what key_up_transposed borrows
  model::MlaConfig shape = {};
  double rope_theta = 0;

  std::int64_t heads() const { return std::ssize(value_up); }
};

class MlaLayer : public AttentionLayer {
 public:
  MlaLayer(MlaWeights weights, std::shared_ptr<const AttentionBackend> attention)
      : w_(std::move(weights)), attention_(std::move(attention)) {}
  std::int64_t workspace(std::int64_t T) const override;
  void forward(Exec& exec, std::int64_t layer, const Batch& batch, KvCache& cache,
               View<const float, 2> x, View<float, 2> y) const override;

 private:
  // [T, H, nope + rope], before its rotary part is turned.
  std::vector<float> queries(Exec& exec, View<const float, 2> x) const;
  // [T, kv_rank + rope]: what goes into the cache.
  std::vector<float> cached_rows(Exec& exec, const Batch& batch, View<const float, 2> x) const;
  // Queries [T, H, nope + rope] to [T, H, kv_rank + rope], which meet the cached rows directly.
  std::vector<float> absorbed(Exec& exec, const Batch& batch, const std::vector<float>& q) const;

  MlaWeights w_;
  std::shared_ptr<const AttentionBackend> attention_;
};

// Cuts kv_b [H (nope + v), kv_rank], a checkpoint's kv_b_proj, into key_up_transposed and value_up.
// Wants weights.shape; borrows kv_b. Throws Error when its shape is another.
void set_kv_up(MlaWeights& weights, const TensorView& kv_b, std::int64_t heads,
               const LinearFactory& factory);

}  // namespace octavo
