#include "03_switch_deepseek_routing/losses.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "02_sparse_moe/routing.h"
#include "03_switch_deepseek_routing/probabilities.h"
#include "common/base/error.h"

namespace octavo::switch_routing {
namespace {

void check(View<const float, 2> logits, std::int64_t counted) {
  require(logits.extent(0) >= 1, "a router's loss is a mean over tokens, and there are none");
  require(counted >= 1 && counted <= logits.extent(1),
          "a router's loss: {} choices counted, must be from 1 to {} (experts)", counted,
          logits.extent(1));
}

// Adds `share` to f of the `counted` experts with the largest scores.
void count(const std::vector<double>& scores, std::int64_t counted, double share,
           std::vector<double>& f) {
  std::vector<int> ids(static_cast<std::size_t>(counted));
  select_top_k(scores, counted, ids.data());
  for (int id : ids) f[static_cast<std::size_t>(id)] += share;
}

// sum_e a_e b_e
double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

RouterLoss balance_loss(View<const float, 2> logits, std::int64_t counted, double scale) {
  check(logits, counted);
  const auto T = static_cast<double>(logits.extent(0));
  RouterLoss loss;
  loss.f.assign(static_cast<std::size_t>(logits.extent(1)), 0);
  loss.P = loss.f;
  std::vector<std::vector<double>> p;
  for (std::int64_t t = 0; t < logits.extent(0); ++t) {
    p.push_back(softmax(logits(t)));
    count(p.back(), counted, 1 / T, loss.f);
    for (std::size_t e = 0; e < loss.P.size(); ++e) loss.P[e] += p.back()[e] / T;
  }
  loss.loss = scale * dot(loss.f, loss.P);    // equation 5
  for (const std::vector<double>& row : p) {  // equation 6
    const double mean = dot(loss.f, row);
    for (std::size_t j = 0; j < row.size(); ++j) {
      loss.gradient.push_back(scale / T * row[j] * (loss.f[j] - mean));
    }
  }
  return loss;
}

RouterLoss switch_loss(View<const float, 2> logits, double alpha) {
  return balance_loss(logits, 1, alpha * static_cast<double>(logits.extent(1)));
}

RouterLoss gshard_loss(View<const float, 2> logits, double alpha) {
  return balance_loss(logits, 1, alpha / static_cast<double>(logits.extent(1)));
}

RouterLoss z_loss(View<const float, 2> logits, double coefficient) {
  check(logits, 1);
  const auto T = static_cast<double>(logits.extent(0));
  RouterLoss loss;
  for (std::int64_t t = 0; t < logits.extent(0); ++t) {
    const View<const float, 1> z = logits(t);
    const auto top = static_cast<double>(*std::max_element(z.data(), z.data() + z.extent(0)));
    double sum = 0;
    for (std::int64_t e = 0; e < z.extent(0); ++e) {
      sum += std::exp(static_cast<double>(z(e)) - top);
    }
    const double log_sum = top + std::log(sum);
    loss.loss += coefficient * log_sum * log_sum / T;  // equation 7
    for (double p : softmax(z)) loss.gradient.push_back(2 * coefficient * log_sum * p / T);
  }
  return loss;
}

RouterLoss sequence_loss(View<const float, 2> logits, std::int64_t top_k, double alpha,
                         const std::vector<std::int64_t>& lengths) {
  check(logits, top_k);
  require(std::ranges::all_of(lengths, [](std::int64_t n) { return n >= 1; }) &&
              std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) == logits.extent(0),
          "a router's loss: the sequences' lengths must be 1 or more and add up to {} tokens",
          logits.extent(0));
  const auto E = static_cast<std::size_t>(logits.extent(1));
  RouterLoss all{.f = std::vector<double>(E), .P = std::vector<double>(E)};
  std::int64_t begin = 0;
  for (std::int64_t length : lengths) {
    const auto T = static_cast<double>(length), S = static_cast<double>(lengths.size());
    std::vector<double> f(E), P(E);
    for (std::int64_t t = begin; t < begin + length; ++t) {
      const std::vector<double> s = sigmoid(logits(t));
      const double sum = std::accumulate(s.begin(), s.end(), 0.0);
      count(s, top_k, static_cast<double>(E) / (static_cast<double>(top_k) * T), f);
      for (std::size_t e = 0; e < E; ++e) P[e] += s[e] / sum / T;
    }
    all.loss += alpha * dot(f, P) / S;  // equation 14
    for (std::int64_t t = begin; t < begin + length; ++t) {
      const std::vector<double> s = sigmoid(logits(t));
      const double sum = std::accumulate(s.begin(), s.end(), 0.0), mean = dot(f, s) / sum;
      for (std::size_t j = 0; j < E; ++j) {  // through s / sum and through the sigmoid
        all.gradient.push_back(alpha / (S * T) * (f[j] - mean) / sum * s[j] * (1 - s[j]));
      }
    }
    for (std::size_t e = 0; e < E; ++e) {
      all.f[e] += f[e] / S;
      all.P[e] += P[e] / S;
    }
    begin += length;
  }
  return all;
}

}  // namespace octavo::switch_routing
