// The demo of chapter 03: ./run demo 03. What a capacity drops, what losses and biases do to the
// load, what experts on several devices or in host memory cost.

#include "03_switch_deepseek_routing/demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>

#include "03_switch_deepseek_routing/capacity.h"
#include "03_switch_deepseek_routing/deepseek_routing.h"
#include "03_switch_deepseek_routing/losses.h"
#include "common/base/error.h"
#include "common/testing/random.h"

namespace octavo::switch_routing {
namespace {

// Logits [T, E] of unit variance; with skew, popular experts have a head start.
std::vector<float> logits(std::int64_t T, std::int64_t E, double skew) {
  std::vector<float> z = testing::normal(T * E, 1);
  for (std::int64_t i = 0; i < T * E; ++i) {
    z[static_cast<std::size_t>(i)] -=
        static_cast<float>(skew * std::log(static_cast<double>(i % E + 1)));
  }
  return z;
}

// Percent of choices that found their expert full.
double overflow(const Choices& c, std::string_view factor) {
  const std::int64_t C = capacity(capacity_factor(factor), c.tokens, c.experts, c.top_k);
  const CapacityPlan plan = place(c, C, DropPolicy::kPosition, AfterDrop::kKeep);
  std::int64_t wanted = 0;
  for (std::int64_t n : plan.load) wanted += n;
  return 100 * static_cast<double>(plan.dropped) / static_cast<double>(wanted);
}

std::vector<float> two_experts(int T, double p) {
  std::vector<float> z;
  for (int t = 0; t < T; ++t) {
    z.insert(z.end(), {static_cast<float>(std::log(p / (1 - p))), 0.0f});
  }
  return z;
}

}  // namespace

void show_overflow() {
  constexpr std::int64_t T = 1024, E = 16;
  fmt::print(
      "1. What a capacity drops: {} tokens, {} experts, percent of choices over capacity\n\n", T,
      E);
  fmt::print("{:<41}", "factor");
  const std::vector<std::string_view> factors = {"1", "1.25", "1.5", "2", "4"};
  for (std::string_view factor : factors) fmt::print("{:>8}", factor);
  fmt::print("\n");
  const std::vector<float> u(static_cast<std::size_t>(T));  // every second expert is drawn
  for (double skew : {0.0, 0.25, 0.5}) {
    const std::vector<float> z = logits(T, E, skew);
    const View<const float, 2> rows(z.data(), {T, E});
    for (bool top2 : {false, true}) {
      const Choices c = top2 ? gshard_top2(rows, View<const float, 1>(u, {T})) : switch_top1(rows);
      fmt::print("{:<41}", fmt::format("{}, popularity 1 / rank^{}",
                                       top2 ? "GShard, top 2" : "Switch, top 1", skew));
      for (std::string_view factor : factors) fmt::print("{:>8.1f}", overflow(c, factor));
      fmt::print("\n");
    }
  }
  fmt::print("A dropped choice adds exactly 0: the token passes on the residual.\n");
}

void show_losses() {
  constexpr double kAlpha = 0.01;
  std::vector<float> z = two_experts(600, 0.75);
  const std::vector<float> rest = two_experts(400, 0.25);
  z.insert(z.end(), rest.begin(), rest.end());
  const RouterLoss loss = switch_loss({z.data(), {1000, 2}}, kAlpha);
  fmt::print("\n2. What an uneven load costs (Switch's loss, alpha {})\n\n", kAlpha);
  fmt::print("1000 tokens, 2 experts: f = {:.1f}, P = {:.2f} for the first, loss {:.4f}\n",
             loss.f[0], loss.P[0], loss.loss);
  fmt::print("dL/dP of it: alpha N f = {:.3f}; f itself is a count and has no gradient\n\n",
             kAlpha * 2 * loss.f[0]);
  fmt::print("{:>6}{:>12}{:>12}\n", "N", "balanced", "collapsed");
  for (std::int64_t N : {2, 8, 64}) {
    const auto n = static_cast<std::size_t>(N);
    std::vector<float> even(n * n), one(n * n);
    for (std::size_t t = 0; t < n; ++t) even[t * n + t] = 0.1f, one[t * n] = 100;
    fmt::print("{:>6}{:>12.4f}{:>12.4f}\n", N, switch_loss({even.data(), {N, N}}, kAlpha).loss,
               switch_loss({one.data(), {N, N}}, kAlpha).loss);
  }
}

void show_bias() {
  constexpr std::int64_t T = 2000, E = 256;
  const std::vector<float> z = logits(T, E, 0);
  double softmax_mean = 0, sigmoid_mean = 0, softmax_top = 0, sigmoid_top = 0;
  for (std::int64_t t = 0; t < T; ++t) {
    double sum = 0, top = -100;
    for (std::int64_t e = 0; e < E; ++e) {
      const auto x = static_cast<double>(z[static_cast<std::size_t>(t * E + e)]);
      sum += std::exp(x);
      top = std::max(top, x);
      sigmoid_mean += 1 / (1 + std::exp(-x)) / static_cast<double>(T * E);
    }
    softmax_mean += 1.0 / static_cast<double>(T * E);
    softmax_top += std::exp(top) / sum / static_cast<double>(T);
    sigmoid_top += 1 / (1 + std::exp(-top)) / static_cast<double>(T);
  }
  fmt::print("\n3. Scores of {} experts, logits of unit variance\n\n", E);
  fmt::print("{:<10}{:>12}{:>18}\n", "", "mean", "best of a token");
  fmt::print("{:<10}{:>12.4f}{:>18.4f}   the mean is 1/256, whatever the logits\n", "softmax",
             softmax_mean, softmax_top);
  fmt::print("{:<10}{:>12.4f}{:>18.4f}   one expert's score takes nothing from another's\n",
             "sigmoid", sigmoid_mean, sigmoid_top);
  const std::vector<float> pair = {static_cast<float>(std::log(0.6 / 0.4)), 0};
  const RoutingPlan plan = DeepseekRouter({.experts = 2, .top_k = 1, .normalize = false}, {0, 0.3f})
                               .route({pair.data(), {1, 2}});
  fmt::print("scores 0.6 and 0.5, biases 0 and 0.3: expert {} with weight {:.1f}, not 0.8\n",
             plan.ids[0], static_cast<double>(plan.weights[0]));
}

}  // namespace octavo::switch_routing

int main(int argc, char** argv) {
  using namespace octavo::switch_routing;
  try {
    const std::string_view option = argc == 3 ? argv[1] : "";
    octavo::require(argc == 1 || option == "--data", "usage: demo [--data FILE]");
    show_overflow();
    show_losses();
    show_bias();
    show_balancing(argc == 3 ? argv[2] : "");
    show_models();
    show_all_to_all();
    show_offloading();
  } catch (const octavo::Error& error) {
    std::fprintf(stderr, "demo: %s\n", error.what());
    return 2;
  }
  return 0;
}
