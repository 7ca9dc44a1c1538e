#include "04_paged_kv/decoder_layer.h"

#include <algorithm>

#include "04_paged_kv/rms_norm.h"

namespace octavo {
namespace {

void add(View<float, 2> x, const std::vector<float>& y) {
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] += y[static_cast<std::size_t>(i)];
}

}  // namespace

std::int64_t DecoderLayer::workspace(std::int64_t T) const {
  return std::max(attention->workspace(T), ffn->workspace(T));
}

void DecoderLayer::forward(Exec& exec, std::int64_t layer, const Batch& batch, KvCache& cache,
                           View<float, 2> x) const {
  std::vector<float> h(static_cast<std::size_t>(x.size())), y(h.size());
  const View<float, 2> normed(h, x.extents()), out(y, x.extents());
  rms_norm_reference(x, attention_norm, epsilon, normed);
  attention->forward(exec, layer, batch, cache, normed, out);
  add(x, y);
  rms_norm_reference(x, ffn_norm, epsilon, normed);
  ffn->forward(exec, normed, out);
  add(x, y);
}

}  // namespace octavo
