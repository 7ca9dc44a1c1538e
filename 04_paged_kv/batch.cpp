#include "04_paged_kv/batch.h"

#include <algorithm>

#include "common/base/counted.h"
#include "common/base/error.h"

namespace octavo {

Batch make_batch(std::span<const BatchPart> parts, std::int64_t block_size) {
  Batch batch;
  batch.query_start.push_back(0);
  for (const BatchPart& part : parts) {
    batch.max_blocks = std::max(batch.max_blocks, static_cast<std::int64_t>(part.blocks.size()));
  }
  for (const BatchPart& part : parts) {
    const std::int64_t end = part.first + static_cast<std::int64_t>(part.tokens.size());
    require(part.first >= 0, "batch: a sequence that starts at position {}", part.first);
    require(!part.tokens.empty(), "batch: a sequence with no token");
    require(end <= block_size * static_cast<std::int64_t>(part.blocks.size()),
            "batch: {} do not fit in {} of {}", counted(end, "position"),
            counted(part.blocks.size(), "block"), block_size);
    for (std::int64_t p = part.first; p < end; ++p) {
      batch.tokens.push_back(part.tokens[static_cast<std::size_t>(p - part.first)]);
      batch.positions.push_back(p);
      const auto block =
          static_cast<std::int64_t>(part.blocks[static_cast<std::size_t>(p / block_size)]);
      batch.slot_mapping.push_back(block * block_size + p % block_size);
    }
    batch.query_start.push_back(batch.rows());
    batch.context_length.push_back(end);
    for (std::int64_t b = 0; b < batch.max_blocks; ++b) {
      const bool used = b < static_cast<std::int64_t>(part.blocks.size());
      batch.block_table.push_back(used ? part.blocks[static_cast<std::size_t>(b)] : -1);
    }
    if (part.wants_logits) batch.logit_rows.push_back(batch.rows() - 1);
  }
  return batch;
}

}  // namespace octavo
