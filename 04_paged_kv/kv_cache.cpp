#include "04_paged_kv/kv_cache.h"

#include <unistd.h>

#include <algorithm>
#include <limits>

#include "common/base/counted.h"
#include "common/base/error.h"

namespace octavo {

KvCache::KvCache(const KvShape& shape, std::int64_t num_blocks, std::int64_t block_size)
    : shape_(shape), num_blocks_(num_blocks), block_size_(block_size) {
  require(shape.layers >= 1 && shape.kv_heads >= 1 && shape.head_width >= 1 && num_blocks >= 1 &&
              block_size >= 1,
          "KV cache: {}, {} of {}, {} of {}; each must be at least 1",
          counted(shape.layers, "layer"), counted(shape.kv_heads, "KV head"), shape.head_width,
          counted(num_blocks, "block"), block_size);
  require(shape.latent == 0 ||
              (shape.kv_heads == 1 && shape.latent >= 1 && shape.latent <= shape.head_width),
          "KV cache: values are the first {} of {} of {}; must be one key that holds them",
          counted(shape.latent, "element"), counted(shape.kv_heads, "key"), shape.head_width);
  // As doubles, since the product of the sizes may leave 64 bits.
  const double positions = static_cast<double>(num_blocks) * static_cast<double>(block_size);
  const double wanted = positions * static_cast<double>(shape.layers) *
                        static_cast<double>(shape.kv_heads) *
                        static_cast<double>(shape.head_width) * (shape.latent > 0 ? 4 : 8);
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  require(wanted < memory,
          "KV cache: {} positions need {:.1f} GB, this machine has {:.1f} GB; ask for fewer tokens",
          positions, wanted / 1e9, memory / 1e9);
  const std::int64_t size = shape.layers * num_blocks * block_size * row_width();
  keys_.assign(static_cast<std::size_t>(size), std::numeric_limits<float>::quiet_NaN());
  if (shape.latent == 0) values_ = keys_;
}

std::int64_t KvCache::bytes() const {
  return static_cast<std::int64_t>((keys_.size() + values_.size()) * sizeof(float));
}

void KvCache::write(std::int64_t layer, std::span<const std::int64_t> slot_mapping,
                    View<const float, 3> key, View<const float, 3> value) {
  const std::int64_t slots = num_blocks_ * block_size_, row = row_width();
  require(layer >= 0 && layer < shape_.layers, "KV cache: layer {} of {}", layer, shape_.layers);
  require(key.extent(1) * key.extent(2) == row &&
              (shape_.latent > 0 ? value.size() == 0 : value.extents() == key.extents()),
          "KV cache: keys [{}, {}, {}] and values [{}, {}, {}] do not fit {} of {}{}",
          key.extent(0), key.extent(1), key.extent(2), value.extent(0), value.extent(1),
          value.extent(2), counted(shape_.kv_heads, "head"), shape_.head_width,
          shape_.latent > 0 ? " that are their own values" : "");
  for (std::int64_t t = 0; t < std::ssize(slot_mapping); ++t) {
    const std::int64_t slot = slot_mapping[static_cast<std::size_t>(t)];
    if (slot < 0) continue;
    require(slot < slots, "KV cache: slot {} of {}", slot, slots);
    const std::int64_t at = (layer * slots + slot) * row;
    std::copy_n(key(t).data(), row, keys_.data() + at);
    if (shape_.latent == 0) std::copy_n(value(t).data(), row, values_.data() + at);
  }
}

}  // namespace octavo
