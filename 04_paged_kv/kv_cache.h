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
  std::int64_t head_width = 0;  // Dh
};

class KvCache {
 public:
  // num_blocks blocks of block_size slots in every layer, filled with NaN: a read before a write
  // shows. Throws Error when a size is below 1.
  KvCache(const KvShape& shape, std::int64_t num_blocks, std::int64_t block_size);

  const KvShape& shape() const { return shape_; }
  std::int64_t num_blocks() const { return num_blocks_; }
  std::int64_t block_size() const { return block_size_; }
  std::int64_t bytes() const;

  // Stores row t of key and value [T, Hkv, Dh] at slot_mapping[t] of a layer; a negative slot is
  // skipped (padding).
  void write(std::int64_t layer, std::span<const std::int64_t> slot_mapping,
             View<const float, 3> key, View<const float, 3> value);

  // One position's vectors [Hkv, Dh]; slot = physical block * block_size + offset.
  View<const float, 2> key(std::int64_t layer, std::int64_t slot) const {
    return at(keys_, layer, slot);
  }
  View<const float, 2> value(std::int64_t layer, std::int64_t slot) const {
    return at(values_, layer, slot);
  }

 private:
  View<const float, 2> at(const std::vector<float>& pool, std::int64_t layer,
                          std::int64_t slot) const;

  KvShape shape_;
  std::int64_t num_blocks_, block_size_;
  std::vector<float> keys_, values_;  // [L, num_blocks * block_size, Hkv, Dh]
};

}  // namespace octavo
