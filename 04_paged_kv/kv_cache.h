#pragma once
// KvCache: the keys and values of all sequences, in blocks of block_size positions. A contiguous
// cache is the same thing with one block of the full length a sequence.

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/view.h"

namespace octavo {

struct KvShape {
  std::int64_t layers = 0;      // L
  std::int64_t kv_heads = 0;    // Hkv
  std::int64_t head_width = 0;  // Dh of the keys, and of the values unless `latent`
  // Latent attention (DeepSeek-V2): a position is one row that serves as key, and as value by its
  // first `latent` elements; no values are stored. 0: values are stored beside the keys.
  std::int64_t latent = 0;

  std::int64_t value_width() const { return latent > 0 ? latent : head_width; }
  // Stored for one token, over all layers: equations 5 and 8 of the README without the bytes.
  std::int64_t elements_per_token() const {
    return layers * kv_heads * head_width * (latent > 0 ? 1 : 2);
  }
};

class KvCache {
 public:
  // num_blocks blocks of block_size slots in every layer, filled with NaN: a read before a write
  // shows. Throws Error when a size is below 1, and unless a latent row is one head that holds it.
  KvCache(const KvShape& shape, std::int64_t num_blocks, std::int64_t block_size);

  const KvShape& shape() const { return shape_; }
  std::int64_t num_blocks() const { return num_blocks_; }
  std::int64_t block_size() const { return block_size_; }
  std::int64_t bytes() const;

  // Stores row t of key and value [T, Hkv, Dh] at slot_mapping[t] of a layer; a negative slot is
  // skipped (padding). A latent cache takes the rows as keys, and an empty `value`. Throws
  // Error for another layer, slot or shape.
  void write(std::int64_t layer, std::span<const std::int64_t> slot_mapping,
             View<const float, 3> key, View<const float, 3> value = {});

  // One position's vectors [Hkv, Dh] and [Hkv, value_width]; slot = physical block * block_size +
  // offset.
  View<const float, 2> key(std::int64_t layer, std::int64_t slot) const {
    return {row(keys_, layer, slot), {shape_.kv_heads, shape_.head_width}};
  }
  View<const float, 2> value(std::int64_t layer, std::int64_t slot) const {
    return {row(shape_.latent > 0 ? keys_ : values_, layer, slot),
            {shape_.kv_heads, shape_.value_width()}};
  }

 private:
  const float* row(const std::vector<float>& pool, std::int64_t layer, std::int64_t slot) const {
    return pool.data() + (layer * num_blocks_ * block_size_ + slot) * row_width();
  }
  std::int64_t row_width() const { return shape_.kv_heads * shape_.head_width; }

  KvShape shape_;
  std::int64_t num_blocks_, block_size_;
  // [L, num_blocks * block_size, Hkv, Dh]; a latent cache has no values_
  std::vector<float> keys_, values_;
};

}  // namespace octavo
