#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "02_sparse_moe/gating.h"
#include "common/base/error.h"
#include "common/device/overlap.h"

namespace octavo {
namespace {

// Ids of the k largest scores in descending order, ties to the lower id.
std::vector<int> largest(const std::vector<float>& z, std::int64_t k) {
  std::vector<int> ids(z.size());
  for (std::size_t e = 0; e < ids.size(); ++e) ids[e] = static_cast<int>(e);
  std::stable_sort(ids.begin(), ids.end(), [&](int a, int b) {
    return z[static_cast<std::size_t>(a)] > z[static_cast<std::size_t>(b)];
  });
  ids.resize(static_cast<std::size_t>(k));
  return ids;
}

// Whether the scores have a softmax: no NaN, no +inf, and one that is not -inf.
bool has_softmax(const std::vector<float>& z) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const bool below_inf = std::all_of(z.begin(), z.end(), [](float v) { return v < kInf; });
  return below_inf && std::any_of(z.begin(), z.end(), [](float v) { return v > -kInf; });
}

void gate_row(const GatingArgs& a, std::int64_t t) {
  const std::int64_t E = a.experts(), k = a.top_k();
  std::vector<float> z(static_cast<std::size_t>(E));
  for (std::int64_t e = 0; e < E; ++e) {
    z[static_cast<std::size_t>(e)] =
        a.bias.size() > 0 ? a.logits(t, e) + a.bias(e) : a.logits(t, e);
  }
  if (!has_softmax(z)) {
    for (std::int64_t j = 0; j < k; ++j) {
      a.ids(t, j) = static_cast<int>(j);
      a.weights(t, j) = std::numeric_limits<float>::quiet_NaN();
    }
    return;
  }
  const std::vector<int> ids = largest(z, k);
  const auto exponential = [&](std::size_t e) {  // equation 1's numerator
    return std::exp(static_cast<double>(z[e]) -
                    static_cast<double>(z[static_cast<std::size_t>(ids[0])]));
  };
  double all = 0, chosen = 0;
  for (std::size_t e = 0; e < z.size(); ++e) all += exponential(e);
  for (int id : ids) chosen += exponential(static_cast<std::size_t>(id));
  const bool over_chosen = a.normalize || a.order == SoftmaxOrder::kTopKSoftmax;
  for (std::int64_t j = 0; j < k; ++j) {  // equation 2
    const int id = ids[static_cast<std::size_t>(j)];
    a.ids(t, j) = id;
    a.weights(t, j) = static_cast<float>(exponential(static_cast<std::size_t>(id)) /
                                         (over_chosen ? chosen : all));
  }
}

}  // namespace

void check_shapes(const GatingArgs& a) {
  require(a.top_k() >= 1 && a.top_k() <= a.experts(), "gating: top_k is {}, must be from 1 to {}",
          a.top_k(), a.experts());
  require(a.ids.extent(0) == a.rows() && a.weights.extents() == a.ids.extents(),
          "gating: ids [{}, {}] and weights [{}, {}] do not fit {} rows of logits", a.ids.extent(0),
          a.top_k(), a.weights.extent(0), a.weights.extent(1), a.rows());
  require(a.bias.size() == 0 || a.bias.size() == a.experts(), "gating: {} biases for {} experts",
          a.bias.size(), a.experts());
  require_apart("gating", {{"ids", a.ids}, {"weights", a.weights}},
                {{"logits", a.logits}, {"bias", a.bias}});
}

Work gating_work(std::int64_t T, std::int64_t E, std::int64_t top_k) {
  const auto t = static_cast<double>(T), e = static_cast<double>(E), k = static_cast<double>(top_k);
  return {.flops = 3 * t * e, .bytes = 4 * t * e + 8 * t * k};
}

void gating_reference(const GatingArgs& a) {
  check_shapes(a);
  for (std::int64_t t = 0; t < a.rows(); ++t) gate_row(a, t);
}

}  // namespace octavo
