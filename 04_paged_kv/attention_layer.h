#pragma once
// AttentionLayer: the half of a decoder layer that looks at other positions. Grouped-query
// attention and latent attention differ in their weights and in what they put into the cache.

#include "04_paged_kv/batch.h"
#include "04_paged_kv/kv_cache.h"
#include "common/device/exec.h"

namespace octavo {

class AttentionLayer {
 public:
  virtual ~AttentionLayer() = default;

  // Bytes of exec.workspace that a batch of up to T rows takes.
  virtual std::int64_t workspace(std::int64_t T) const = 0;

  // x [T, D], normalised, to y [T, D], without the residual. Writes the rows' keys and values, or
  // what stands for them, into `layer` of the cache, then attends.
  virtual void forward(Exec& exec, std::int64_t layer, const Batch& batch, KvCache& cache,
                       View<const float, 2> x, View<float, 2> y) const = 0;
};

}  // namespace octavo
