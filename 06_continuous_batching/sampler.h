#pragma once
// From logits to the next token.

#include <cstdint>
#include <span>
#include <vector>

namespace octavo {

// Filters apply in the order temperature, top-k, top-p.
struct SamplingParams {
  double temperature = 1.0;  // 0: greedy; the other filters then do not matter
  std::int64_t top_k = 0;    // keep the k most likely tokens; 0 keeps all
  double top_p = 1.0;        // keep the fewest most likely tokens whose probabilities reach top_p
                             // (Holtzman et al. 2020)
  // the same seed, sample index and position give the same draw, whatever runs beside it
  std::uint64_t seed = 0;
};

// Throws Error that names the parameter, its value and its range: temperature is a finite number >=
// 0, top_k >= 0, 0 < top_p <= 1.
void check(const SamplingParams& params);

// The distribution that `sample` draws from: [V] probabilities that sum to 1, zero for tokens that
// the filters remove. A greedy request puts everything on the most likely token. Ties in either
// filter and in greedy go to the lower id. Throws Error when a logit is NaN or +inf, or all are
// -inf.
std::vector<double> sampling_distribution(std::span<const float> logits,
                                          const SamplingParams& params);

// Draws token ids in ascending order of the cumulative distribution, by the uniform number of
// (seed, sample_index, position); position is that of the new token.
int sample(std::span<const float> logits, const SamplingParams& params, std::uint32_t sample_index,
           std::int64_t position);

}  // namespace octavo
