// The routers on small inputs, and what their gates can learn.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "02_sparse_moe/demo.h"
#include "02_sparse_moe/noisy_top_k.h"
#include "02_sparse_moe/routing_gradient.h"
#include "common/testing/random.h"

namespace octavo::sparse_moe {
namespace {

std::string joined(const auto& values, const char* format) {
  std::string text;
  for (const auto& v : values) text += fmt::format(fmt::runtime(format), v);
  return text;
}

// The largest gradient by a logit when the loss grows with the weights.
double largest_gradient(std::int64_t k, bool normalize) {
  constexpr std::int64_t E = 8;
  const std::vector<float> logits = testing::normal(E, 41), draws = testing::normal(k, 42);
  const RoutingPlan plan =
      SoftmaxTopKRouter(E, k, normalize).route(View<const float, 2>(logits, {1, E}));
  const std::vector<double> upstream(draws.begin(), draws.end());
  double largest = 0;
  for (double g : router_gradient(plan, View<const float, 2>(logits, {1, E}),
                                  View<const double, 2>(upstream, {1, k}), normalize)) {
    largest = std::max(largest, std::abs(g));
  }
  return largest;
}

void show_gates(const char* name, const NoisyGates& gates) {
  const auto most = *std::ranges::max_element(gates.load);
  double mean = 0;
  for (double load : gates.load) mean += load / static_cast<double>(gates.load.size());
  fmt::print("{:<26}{:>16.3f}{:>12.3f}{:>13.2f}{:>15}\n", name,
             std::sqrt(cv_squared(gates.importance)), std::sqrt(cv_squared(gates.load)),
             most / mean, std::ranges::count(gates.plan.counts(), 0));
}

}  // namespace

void show_routers() {
  const std::vector<float> logits = {2, 1, 0, -1}, bias = {0, 0, 1.5f, 0};
  fmt::print(
      "\n5. One token, logits (2, 1, 0, -1), two experts; gpt-oss adds its bias, here (0, 0, 1.5, "
      "0)\n\n");
  for (const SoftmaxRecipe& r : kSoftmaxRecipes) {
    SoftmaxRouting routing{.experts = 4, .top_k = 2, .order = r.order, .normalize = r.normalize};
    if (r.bias) routing.bias = bias;
    const RoutingPlan plan = SoftmaxTopKRouter(routing).route(View<const float, 2>(logits, {1, 4}));
    fmt::print("{:<32}experts{}   weights{}   sum {:.3f}\n", r.models, joined(plan.ids, " {}"),
               joined(plan.weights, " {:.3f}"), plan.weights[0] + plan.weights[1]);
  }
  fmt::print(
      "\nThe largest gradient that a logit gets from the weights, of 8 "
      "experts\n{:<6}{:>16}{:>16}\n",
      "k", "renormalised", "as they are");
  for (std::int64_t k : {1, 2, 4}) {
    fmt::print("{:<6}{:>16.4f}{:>16.4f}\n", k, largest_gradient(k, true),
               largest_gradient(k, false));
  }
  fmt::print(
      "A single renormalised weight is 1, whatever the gate says: it teaches the gate nothing.\n");
}

void show_noise() {
  constexpr std::int64_t T = 1024, E = 16, k = 2;
  std::vector<float> clean(T * E), spread(T * E);
  const std::vector<float> normal = testing::normal(T * E, 51), x = testing::normal(T * E, 52);
  const auto inputs = [&] {
    return NoisyLogits{View<const float, 2>(clean, {T, E}), View<const float, 2>(spread, {T, E}),
                       View<const float, 2>(normal, {T, E})};
  };
  fmt::print(
      "\n6. Noisy top-k gating, {} tokens, {} of {} experts\n\n{:<26}{:>16}{:>12}{:>13}{:>15}\n", T,
      k, E, "", "CV(importance)", "CV(load)", "most / mean", "without token");
  show_gates("untrained, without noise", noiseless_top_k(inputs().clean, k));
  show_gates("untrained, noisy", noisy_top_k(inputs(), k));
  for (std::size_t i = 0; i < clean.size(); ++i) {  // a gate that likes low ids
    clean[i] = x[i] * 0.5f - 0.4f * static_cast<float>(i % E);
  }
  show_gates("lopsided, without noise", noiseless_top_k(inputs().clean, k));
  show_gates("lopsided, noisy", noisy_top_k(inputs(), k));
  fmt::print(
      "Noise gives an expert that is almost chosen its chance. It does not cure a gate that likes "
      "some\nfar more than others; the balancing losses, the squares of these CV, are for that.\n");
}

}  // namespace octavo::sparse_moe
