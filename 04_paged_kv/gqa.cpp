#include "04_paged_kv/gqa.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "04_paged_kv/rope.h"

namespace octavo {

std::int64_t GqaLayer::workspace(std::int64_t T) const {
  return std::max({w_.query->workspace(T), w_.key->workspace(T), w_.value->workspace(T),
                   w_.output->workspace(T)});
}

void GqaLayer::forward(Exec& exec, std::int64_t layer, const Batch& batch, KvCache& cache,
                       View<const float, 2> x, View<float, 2> y) const {
  const std::int64_t T = x.extent(0), H = w_.heads, Hkv = w_.kv_heads, Dh = w_.head_width;
  const auto floats = [T](std::int64_t row) {
    return std::vector<float>(static_cast<std::size_t>(T * row));
  };
  std::vector<float> q = floats(H * Dh), k = floats(Hkv * Dh), v = floats(Hkv * Dh);
  std::vector<float> a = floats(H * Dh);

  w_.query->forward(exec, x, View<float, 2>(q, {T, H * Dh}));
  w_.key->forward(exec, x, View<float, 2>(k, {T, Hkv * Dh}));
  w_.value->forward(exec, x, View<float, 2>(v, {T, Hkv * Dh}));
  rope_reference(View<float, 3>(q, {T, H, Dh}), batch.positions, w_.rope_theta);
  rope_reference(View<float, 3>(k, {T, Hkv, Dh}), batch.positions, w_.rope_theta);
  cache.write(layer, batch.slot_mapping, View<float, 3>(k, {T, Hkv, Dh}),
              View<float, 3>(v, {T, Hkv, Dh}));
  attention_->attend(exec,
                     {.layer = layer,
                      .batch = batch,
                      .cache = cache,
                      .query = View<float, 3>(q, {T, H, Dh}),
                      .scale = 1.0 / std::sqrt(static_cast<double>(Dh))},
                     View<float, 3>(a, {T, H, Dh}));
  w_.output->forward(exec, View<const float, 2>(a, {T, H * Dh}), y);
}

}  // namespace octavo
