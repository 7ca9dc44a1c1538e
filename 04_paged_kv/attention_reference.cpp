#include <algorithm>
#include <cmath>
#include <limits>

#include "04_paged_kv/attention.h"
#include "common/base/error.h"
#include "common/base/threads.h"

namespace octavo {
namespace {

// Equation 3 for one row and one head. slot_of(p) is the cache slot of position p.
template <class SlotOf>
void attend_row(const AttentionInputs& in, std::int64_t kv_head, std::int64_t positions,
                const SlotOf& slot_of, View<const float, 1> q, View<float, 1> out) {
  std::vector<double> weight(static_cast<std::size_t>(positions));
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t p = 0; p < positions; ++p) {
    const View<const float, 1> k = in.cache.key(in.layer, slot_of(p))(kv_head);
    double score = 0;
    for (std::int64_t d = 0; d < q.extent(0); ++d)
      score += static_cast<double>(q(d)) * static_cast<double>(k(d));
    weight[static_cast<std::size_t>(p)] = score * in.scale;
    largest = std::max(largest, score * in.scale);
  }
  double sum = 0;
  for (double& w : weight) sum += w = std::exp(w - largest);
  std::vector<double> total(static_cast<std::size_t>(out.extent(0)));
  for (std::int64_t p = 0; p < positions; ++p) {
    const View<const float, 1> v = in.cache.value(in.layer, slot_of(p))(kv_head);
    for (std::int64_t d = 0; d < out.extent(0); ++d) {
      total[static_cast<std::size_t>(d)] +=
          weight[static_cast<std::size_t>(p)] * static_cast<double>(v(d));
    }
  }
  for (std::int64_t d = 0; d < out.extent(0); ++d)
    out(d) = static_cast<float>(total[static_cast<std::size_t>(d)] / sum);
}

}  // namespace

void ReferenceAttention::attend(Exec& exec, const AttentionInputs& in, View<float, 3> out) const {
  const KvShape& shape = in.cache.shape();
  const std::int64_t H = in.query.extent(1), Hkv = shape.kv_heads, Bs = in.cache.block_size();
  require(H % Hkv == 0, "attention: {} query heads over {} KV heads; must be a multiple", H, Hkv);
  require(in.query.extent(2) == shape.head_width && out.extent(2) == shape.value_width(),
          "attention: queries of {} and outputs of {} over keys of {} and values of {}",
          in.query.extent(2), out.extent(2), shape.head_width, shape.value_width());
  const View<const std::int32_t, 2> blocks = in.batch.blocks();
  for (std::int64_t s = 0; s < in.batch.sequences(); ++s) {
    const std::int64_t begin = in.batch.query_start[static_cast<std::size_t>(s)];
    const std::int64_t rows = in.batch.query_start[static_cast<std::size_t>(s + 1)] - begin;
    const auto slot_of = [&](std::int64_t p) {
      return static_cast<std::int64_t>(blocks(s, p / Bs)) * Bs + p % Bs;
    };
    exec.threads.parallel_for(rows * H, [&](std::int64_t task) {
      const std::int64_t t = begin + task / H, h = task % H;
      attend_row(in, h * Hkv / H, in.batch.positions[static_cast<std::size_t>(t)] + 1, slot_of,
                 in.query(t, h), out(t, h));
    });
  }
}

}  // namespace octavo
