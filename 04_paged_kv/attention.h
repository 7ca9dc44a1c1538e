#pragma once
// Causal attention of new rows over everything their sequences have in the cache.

#include "04_paged_kv/batch.h"
#include "04_paged_kv/kv_cache.h"
#include "common/device/exec.h"

namespace octavo {

class AttentionBackend {
 public:
  virtual ~AttentionBackend() = default;
  // query, out [T, H, Dh]; the keys and values of the batch's own rows are in the cache already.
  // Query head h reads KV head h * Hkv / H (grouped-query attention, Ainslie et al. 2023). Row t
  // sees positions 0 .. positions[t] of its sequence.
  virtual void attend(Exec& exec, std::int64_t layer, const Batch& batch, const KvCache& cache,
                      View<const float, 3> query, View<float, 3> out) const = 0;
};

// Equation 3 of the README, in double, row by row and position by position:
//   out_t = sum_p softmax_p(q_t . k_p / sqrt(Dh)) v_p
class ReferenceAttention : public AttentionBackend {
 public:
  void attend(Exec& exec, std::int64_t layer, const Batch& batch, const KvCache& cache,
              View<const float, 3> query, View<float, 3> out) const override;
};

}  // namespace octavo
