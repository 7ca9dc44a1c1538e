#pragma once
// Request: what a user asks for. Sequence: how far the engine has got with it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "06_continuous_batching/sampler.h"

namespace octavo {

struct Request {
  std::vector<int> prompt = {};  // at least one token
  SamplingParams sampling = {};
  std::int64_t max_tokens = 0;  // most tokens to generate, >= 1
  std::vector<int> stop_tokens =
      {};  // generation ends with one of these; it is not part of the output
};

enum class FinishReason { kNone, kStop, kLength };

// Invariant: num_computed < tokens.size(). Positions below num_computed are in the KV cache; the
// rest is still to be fed. One number covers prompt and generation: there is no phase flag.
struct Sequence {
  std::vector<int> tokens = {};  // prompt, then what was generated
  std::int64_t num_prompt = 0;
  std::int64_t num_computed = 0;
  std::vector<std::int32_t> block_table = {};  // physical blocks, in order
  FinishReason finish = FinishReason::kNone;

  std::int64_t num_tokens() const { return static_cast<std::int64_t>(tokens.size()); }
  std::int64_t num_output() const { return num_tokens() - num_prompt; }
};

}  // namespace octavo
