#pragma once
// The engine's loop for one request: schedule, forward, sample, postprocess, until the sequence
// ends.

#include <functional>

#include "04_paged_kv/decoder.h"
#include "06_continuous_batching/request.h"

namespace octavo {

struct GenerateOptions {
  // most tokens a step feeds: a longer prompt goes in chunks; >= 1
  std::int64_t token_budget = 512;
  // positions a KV block; 0: one block of the full length
  std::int64_t block_size = 0;
};

// Called with each token as it is committed, before the loop goes on; return false to end the
// generation there.
using TokenCallback = std::function<bool(int token)>;

// Runs the request to its end and returns the finished sequence. The tokens depend on the request
// and the weights alone, not on the options or the number of threads. Throws Error when the request
// is empty, does not fit the context or has sampling parameters out of range.
Sequence generate(const Decoder& decoder, Exec& exec, const Request& request,
                  const TokenCallback& on_token, const GenerateOptions& options = {});

}  // namespace octavo
