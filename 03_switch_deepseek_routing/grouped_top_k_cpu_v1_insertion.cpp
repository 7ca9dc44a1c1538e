// Equations 8 to 11 on the host: logits [T, E] -> ids and weights [T, k].
//
// Idea: one pass over a row. The k best so far stand in order; an expert that beats the last of
// them is inserted at its place, which after the first few experts is rare. The reference looks at
// all E scores k times and allocates for each row. Scores are in double as the reference's, so the
// choices are the same.
//
// What limits it: E exponentials a row. Rows are shared out among the threads.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "03_switch_deepseek_routing/cpu_versions.h"
#include "common/base/threads.h"

namespace octavo::switch_routing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMostExperts = 1024;

// One row's scores, on the stack.
struct Row {
  double s[kMostExperts], b[kMostExperts];
};

bool score(const GroupedTopKArgs& a, std::int64_t t, Row& row) {
  const std::int64_t E = a.routing.experts;
  const float* const z = a.logits.data() + t * E;
  const bool softmax = a.routing.score == GateScore::kSoftmax;
  double top = -kInf, sum = 0;
  bool bad = false;
  for (std::int64_t e = 0; e < E; ++e) {
    bad |= std::isnan(z[e]);
    top = std::max(top, static_cast<double>(z[e]));
  }
  if (bad || (softmax && std::isinf(top))) return false;
  for (std::int64_t e = 0; e < E; ++e) {
    const auto x = static_cast<double>(z[e]);
    row.s[e] = softmax ? std::exp(x - top) : 1 / (1 + std::exp(-x));
    sum += row.s[e];
  }
  for (std::int64_t e = 0; e < E; ++e) {
    if (softmax) row.s[e] /= sum;
    row.b[e] = row.s[e] + (a.bias.extent(0) > 0 ? static_cast<double>(a.bias(e)) : 0);
  }
  return true;
}

// The n best of count values in order, ties to the lower index; `index` has room for n.
void best_of(const double* values, std::int64_t count, std::int64_t n, int* index) {
  std::int64_t held = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (held == n && !(values[i] > values[index[n - 1]])) continue;
    std::int64_t at = held < n ? held++ : n - 1;
    for (; at > 0 && values[i] > values[index[at - 1]]; --at) index[at] = index[at - 1];
    index[at] = static_cast<int>(i);
  }
}

// Equation 9.
void mask_groups(const DeepseekRouting& r, Row& row) {
  const std::int64_t size = r.experts / r.groups;
  double scores[kMostExperts];
  int order[kMostExperts];
  for (std::int64_t g = 0; g < r.groups; ++g) {
    double first = -kInf, second = -kInf;
    for (std::int64_t i = 0; i < size; ++i) {
      const double b = row.b[g * size + i];
      second = std::max(second, std::min(first, b));
      first = std::max(first, b);
    }
    scores[g] = r.group_score == GroupScore::kBest ? first : first + second;
  }
  best_of(scores, r.groups, r.groups, order);
  for (std::int64_t rank = r.top_groups; rank < r.groups; ++rank) {
    std::fill_n(row.b + order[rank] * size, size, -kInf);
  }
}

void route_row(const GroupedTopKArgs& a, std::int64_t t) {
  const DeepseekRouting& r = a.routing;
  int* const ids = a.ids.data() + t * r.top_k;
  float* const weights = a.weights.data() + t * r.top_k;
  Row row;
  if (!score(a, t, row)) {
    std::iota(ids, ids + r.top_k, 0);
    std::fill_n(weights, r.top_k, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  if (r.top_groups < r.groups) mask_groups(r, row);
  best_of(row.b, r.experts, r.top_k, ids);
  double sum = 0;
  for (std::int64_t j = 0; j < r.top_k; ++j) sum += row.s[ids[j]];
  const double factor = r.scaling / (r.normalize ? sum + 1e-20 : 1.0);
  for (std::int64_t j = 0; j < r.top_k; ++j) {
    weights[j] = static_cast<float>(row.s[ids[j]] * factor);
  }
}

bool supports(const GroupedTopKArgs& a, const Device&) { return a.routing.experts <= kMostExperts; }

void run(Exec& exec, const GroupedTopKArgs& a, const Prepared&) {
  check_shapes(a);
  require(supports(a, exec.device), "router: {} experts, this version takes {} at most",
          a.routing.experts, kMostExperts);
  constexpr std::int64_t kRows = 16;  // of a task: some ten microseconds
  exec.threads.parallel_for(ceil_div(a.rows(), kRows), [&](std::int64_t task) {
    const std::int64_t end = std::min(a.rows(), (task + 1) * kRows);
    for (std::int64_t t = task * kRows; t < end; ++t) route_row(a, t);
  });
}

}  // namespace

Version<GroupedTopKArgs> grouped_top_k_cpu_v1_insertion() {
  return {.name = "cpu_v1_insertion",
          .backend = Backend::kCpu,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .supports = supports,
          .run = run};
}

}  // namespace octavo::switch_routing
