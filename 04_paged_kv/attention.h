#pragma once
// Causal attention of new rows over everything their sequences have in the cache.

#include "04_paged_kv/batch.h"
#include "04_paged_kv/kv_cache.h"
#include "common/device/exec.h"

namespace octavo {

// What one layer's attention reads. The keys and values of the batch's own rows are in the cache
// already.
struct AttentionInputs {
  std::int64_t layer = 0;
  const Batch& batch;
  const KvCache& cache;
  View<const float, 3> query;  // [T, H, Dh]
  double scale = 0;            // of the scores; 1 / sqrt(Dh) but in latent attention
};

class AttentionBackend {
 public:
  virtual ~AttentionBackend() = default;
  // out [T, H, value width]. Query head h reads KV head h * Hkv / H (grouped-query attention,
  // Ainslie et al. 2023). Row t sees positions 0 .. positions[t] of its sequence.
  virtual void attend(Exec& exec, const AttentionInputs& in, View<float, 3> out) const = 0;
};

// Equation 3 of the README, in double, row by row and position by position:
//   out_t = sum_p softmax_p(scale q_t . k_p) v_p
class ReferenceAttention : public AttentionBackend {
 public:
  void attend(Exec& exec, const AttentionInputs& in, View<float, 3> out) const override;
};

}  // namespace octavo
