#include <algorithm>
#include <vector>

#include "02_sparse_moe/align.h"
#include "common/base/error.h"
#include "common/device/overlap.h"

namespace octavo {

void check_shapes(const AlignArgs& a) {
  require(a.offsets.size() >= 2 && a.order.size() == a.slots(),
          "align: {} offsets and {} places do not fit E + 1 and {} slots", a.offsets.size(),
          a.order.size(), a.slots());
  constexpr std::int64_t kLimit = INT32_MAX - 4096;  // a chunk beyond the end must not overflow
  require(a.slots() <= kLimit, "align: {} slots, at most {}", a.slots(), kLimit);
  require_apart("align", {{"offsets", a.offsets}, {"order", a.order}}, {{"ids", a.ids}});
}

Work align_work(std::int64_t T, std::int64_t top_k, std::int64_t E) {
  return {.bytes = 8 * static_cast<double>(T * top_k) + 4 * static_cast<double>(E + 1)};
}

void align_reference(const AlignArgs& a) {
  check_shapes(a);
  std::fill_n(a.order.data(), a.slots(), -1);
  int placed = 0;
  for (std::int64_t e = 0; e < a.experts(); ++e) {
    a.offsets(e) = placed;
    for (std::int64_t slot = 0; slot < a.slots(); ++slot) {
      if (a.ids.data()[slot] == e) a.order(placed++) = static_cast<int>(slot);
    }
  }
  a.offsets(a.experts()) = placed;
}

}  // namespace octavo
