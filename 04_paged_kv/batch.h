#pragma once
// Batch: what one forward computes. Rows of several sequences stand flattened behind each other,
// without padding.

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/view.h"

namespace octavo {

// T rows of S sequences. Sequence s owns rows query_start[s] .. query_start[s+1] - 1, at
// consecutive positions that end at context_length[s] - 1.
struct Batch {
  std::vector<int> tokens;                   // [T] token ids
  std::vector<std::int64_t> positions;       // [T] position in its sequence
  std::vector<std::int64_t> slot_mapping;    // [T] where in the cache the row's key and value go
  std::vector<std::int64_t> query_start;     // [S + 1]
  std::vector<std::int64_t> context_length;  // [S] positions a sequence has after this forward
  // [S, max_blocks] physical block of each logical block; -1 where unused
  std::vector<std::int32_t> block_table;
  std::int64_t max_blocks = 0;
  std::vector<std::int64_t> logit_rows;  // rows whose logits are wanted, in this order

  std::int64_t rows() const { return static_cast<std::int64_t>(tokens.size()); }
  std::int64_t sequences() const { return static_cast<std::int64_t>(context_length.size()); }
  View<const std::int32_t, 2> blocks() const {
    return {block_table.data(), {sequences(), max_blocks}};
  }
};

// One sequence's share of a step: the tokens at positions first .. first + tokens.size() - 1.
struct BatchPart {
  std::span<const int> tokens = {};  // [n], n >= 1
  std::int64_t first = 0;            // position of tokens[0]
  // the sequence's block table, long enough for its last position
  std::span<const std::int32_t> blocks = {};
  bool wants_logits = false;  // logits of its last row
};

// Flattens the parts. Throws Error for an empty part or a block table that is too short.
Batch make_batch(std::span<const BatchPart> parts, std::int64_t block_size);

}  // namespace octavo
