#include "06_continuous_batching/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/base/error.h"
#include "common/base/philox.h"

namespace octavo {
namespace {

// Ids in descending probability, ties to the lower id.
std::vector<std::size_t> ranked(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
  return order;
}

std::size_t argmax(std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t v = 1; v < logits.size(); ++v) {
    if (logits[v] > logits[best]) best = v;
  }
  return best;
}

// exp((z - max z) / temperature), not yet divided by its sum.
std::vector<double> softened(std::span<const float> logits, double temperature) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p(logits.size());
  for (std::size_t v = 0; v < p.size(); ++v)
    p[v] = std::exp((static_cast<double>(logits[v]) - largest) / temperature);
  return p;
}

void normalise(std::vector<double>& p) {
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& value : p) value /= sum;
}

}  // namespace

void check(const SamplingParams& params) {
  require(std::isfinite(params.temperature) && params.temperature >= 0,
          "temperature is {}, must be a finite number of at least 0", params.temperature);
  require(params.top_k >= 0, "top_k is {}, must be at least 0 (0 keeps all tokens)", params.top_k);
  require(params.top_p > 0 && params.top_p <= 1, "top_p is {}, must be above 0 and at most 1",
          params.top_p);
}

std::vector<double> sampling_distribution(std::span<const float> logits,
                                          const SamplingParams& params) {
  check(params);
  require(!logits.empty(), "sampling: no logits");
  for (std::size_t v = 0; v < logits.size(); ++v) {
    require(logits[v] < std::numeric_limits<float>::infinity(),
            "sampling: the logit of token {} is {}", v, logits[v]);
  }
  const std::size_t best = argmax(logits);
  require(std::isfinite(logits[best]), "sampling: every logit is -inf");
  if (params.temperature == 0) {
    std::vector<double> p(logits.size());
    p[best] = 1;
    return p;
  }
  std::vector<double> p = softened(logits, params.temperature);
  normalise(p);
  if (params.top_k == 0 && params.top_p == 1) return p;
  const std::vector<std::size_t> order = ranked(p);
  std::size_t keep = order.size();
  if (params.top_k > 0) keep = std::min(keep, static_cast<std::size_t>(params.top_k));
  for (std::size_t i = keep; i < order.size(); ++i) p[order[i]] = 0;
  normalise(p);
  double cumulative = 0;
  for (std::size_t i = 0; i < keep; ++i) {
    if (i > 0 && cumulative >= params.top_p) p[order[i]] = 0;
    cumulative += p[order[i]];
  }
  normalise(p);
  return p;
}

int sample(std::span<const float> logits, const SamplingParams& params, std::uint32_t sample_index,
           std::int64_t position) {
  const std::vector<double> p = sampling_distribution(logits, params);
  const double u =
      uniform(params.seed, sample_index, static_cast<std::uint64_t>(position), Purpose::kSample);
  double cumulative = 0;
  std::size_t last = 0;
  for (std::size_t v = 0; v < p.size(); ++v) {
    if (p[v] == 0) continue;
    cumulative += p[v];
    last = v;
    if (u < cumulative) break;
  }
  // rounding may leave the sum just below u: then the last token with any weight
  return static_cast<int>(last);
}

}  // namespace octavo
