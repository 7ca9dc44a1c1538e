#include "06_continuous_batching/generate.h"

#include <algorithm>
#include <numeric>

#include "common/base/counted.h"
#include "common/base/error.h"

namespace octavo {
namespace {

void check(const Request& request, std::int64_t context) {
  const auto prompt = static_cast<std::int64_t>(request.prompt.size());
  require(prompt >= 1, "the prompt is empty");
  require(prompt < context, "the prompt has {}; the model's context of {} leaves room for {}",
          counted(prompt, "token"), context, context - 1);
  require(request.max_tokens >= 1 && request.max_tokens <= context,
          "max_tokens is {}, must be from 1 to {} (the model's context)", request.max_tokens,
          context);
  check(request.sampling);
}

}  // namespace

Sequence generate(const Decoder& decoder, Exec& exec, const Request& request,
                  const TokenCallback& on_token, const GenerateOptions& options) {
  const std::int64_t context = decoder.config().max_context;
  check(request, context);
  require(options.token_budget >= 1, "the token budget is {}, must be at least 1",
          options.token_budget);
  Sequence sequence{.tokens = request.prompt, .num_prompt = std::ssize(request.prompt)};
  const std::int64_t length = std::min(context, sequence.num_prompt + request.max_tokens);
  const std::int64_t block_size = options.block_size > 0 ? options.block_size : length;
  sequence.block_table.resize(static_cast<std::size_t>((length + block_size - 1) / block_size));
  std::iota(sequence.block_table.begin(), sequence.block_table.end(), 0);
  KvCache cache(decoder.kv_shape(), std::ssize(sequence.block_table), block_size);

  while (sequence.finish == FinishReason::kNone) {
    // Schedule: as much of what is not computed as the budget allows. Only the step that reaches
    // the end samples.
    const std::int64_t count =
        std::min(sequence.num_tokens() - sequence.num_computed, options.token_budget);
    const bool samples = sequence.num_computed + count == sequence.num_tokens();
    const BatchPart part{.tokens = std::span<const int>(sequence.tokens)
                                       .subspan(static_cast<std::size_t>(sequence.num_computed),
                                                static_cast<std::size_t>(count)),
                         .first = sequence.num_computed,
                         .blocks = sequence.block_table,
                         .wants_logits = samples};
    const std::vector<float> logits =
        decoder.forward(exec, make_batch({&part, 1}, block_size), cache);
    sequence.num_computed += count;
    if (!samples) continue;

    const int token = sample(logits, request.sampling, 0, sequence.num_tokens());
    if (std::ranges::find(request.stop_tokens, token) != request.stop_tokens.end()) {
      sequence.finish = FinishReason::kStop;
      break;
    }
    sequence.tokens.push_back(token);
    if (sequence.num_output() >= request.max_tokens || sequence.num_tokens() >= context) {
      sequence.finish = FinishReason::kLength;
    }
    if (!on_token(token)) break;
  }
  return sequence;
}

}  // namespace octavo
