#include "03_switch_deepseek_routing/capacity.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "03_switch_deepseek_routing/probabilities.h"
#include "common/base/counted.h"
#include "common/base/error.h"

namespace octavo::switch_routing {
namespace {

// Slots in the order in which experts are asked: slot t k + j stands at j T + t.
std::vector<std::size_t> by_priority(const Choices& c) {
  std::vector<std::size_t> slots;
  for (std::int64_t j = 0; j < c.top_k; ++j) {
    for (std::int64_t t = 0; t < c.tokens; ++t) {
      slots.push_back(static_cast<std::size_t>(t * c.top_k + j));
    }
  }
  return slots;
}

// The kept weights of each token over their sum; a token that lost all of them stays without.
void renormalize(CapacityPlan& plan) {
  for (std::int64_t t = 0; t < plan.tokens; ++t) {
    const auto begin = plan.weights.begin() + t * plan.top_k;
    const double sum = std::accumulate(begin, begin + plan.top_k, 0.0);
    for (auto w = begin; sum != 0 && w != begin + plan.top_k; ++w) {
      *w = static_cast<float>(static_cast<double>(*w) / sum);
    }
  }
}

// Throws Error for choices that are none: other lengths than T k, or an expert that there is not,
// or one that a token has twice.
void check(const Choices& c) {
  constexpr std::int64_t kMost = INT32_MAX;
  require(c.tokens >= 0 && c.experts >= 0 && c.experts <= kMost && c.top_k >= 0 &&
              (c.top_k == 0 || c.tokens <= kMost / c.top_k) &&
              std::ssize(c.ids) == c.tokens * c.top_k && c.weights.size() == c.ids.size(),
          "capacity: {} ids and {} weights do not fit {} choices of {} experts for {} tokens",
          c.ids.size(), c.weights.size(), c.top_k, c.experts, c.tokens);
  for (std::int64_t t = 0; t < c.tokens; ++t) {
    const auto begin = c.ids.begin() + t * c.top_k;
    for (auto id = begin; id != begin + c.top_k; ++id) {
      require(*id >= -1 && *id < c.experts && (*id < 0 || std::find(begin, id, *id) == id),
              "capacity: token {} chooses expert {}; experts are 0 to {}, each at most once, or -1",
              t, *id, c.experts - 1);
    }
  }
}

}  // namespace

CapacityFactor capacity_factor(std::string_view decimal) {
  constexpr std::size_t kDigits = 6;
  CapacityFactor f{0, 1};
  std::size_t digits = 0;
  bool point = false;
  for (char c : decimal) {
    require((c >= '0' && c <= '9') || (c == '.' && !point),
            "capacity factor: '{}' is not a decimal number such as 1.25", decimal);
    if (c == '.') {
      point = true;
      continue;
    }
    require(++digits <= kDigits, "capacity factor: '{}' has more than {} digits", decimal, kDigits);
    f.numerator = 10 * f.numerator + (c - '0');
    if (point) f.denominator *= 10;
  }
  require(f.numerator > 0, "capacity factor: '{}' must be above 0", decimal);
  return f;
}

std::int64_t capacity(CapacityFactor factor, std::int64_t T, std::int64_t E, std::int64_t top_k) {
  constexpr std::int64_t kMost = 1'000'000'000;  // of T k and E: products stay under 2^63
  require(E >= 1 && E <= kMost && top_k >= 1 && T >= 0 && T <= kMost / top_k,
          "capacity: {}, {} each, {}", counted(T, "token"), counted(top_k, "choice"),
          counted(E, "expert"));
  require(factor.numerator >= 1 && factor.denominator >= 1 && factor.numerator <= 1'000'000 &&
              factor.denominator <= 1'000'000,
          "capacity factor: {} / {} must be made of numbers from 1 to 1000000", factor.numerator,
          factor.denominator);
  const std::int64_t above = factor.numerator * top_k * T, below = factor.denominator * E;
  // The ceiling of what is above 0, and so 1 at least.
  const std::int64_t rows = above / below + (above % below != 0 ? 1 : 0);
  return std::min(T, rows);
}

Choices switch_top1(View<const float, 2> logits) {
  Choices c{.tokens = logits.extent(0), .experts = logits.extent(1), .top_k = 1};
  require(c.experts >= 1, "Switch routing wants at least one expert");
  for (std::int64_t t = 0; t < c.tokens; ++t) {
    const std::vector<double> p = softmax(logits(t));
    int id = 0;
    select_top_k(p, 1, &id);
    c.ids.push_back(id);
    c.weights.push_back(static_cast<float>(p[static_cast<std::size_t>(id)]));
  }
  return c;
}

Choices gshard_top2(View<const float, 2> logits, View<const float, 1> uniforms) {
  Choices c{.tokens = logits.extent(0), .experts = logits.extent(1), .top_k = 2};
  require(c.experts >= 2, "GShard's routing wants two experts or more, not {}", c.experts);
  require(uniforms.extent(0) == c.tokens, "GShard's routing: {} for {}",
          counted(uniforms.extent(0), "uniform"), counted(c.tokens, "token"));
  for (std::int64_t t = 0; t < c.tokens; ++t) {
    const std::vector<double> p = softmax(logits(t));
    int ids[2];
    select_top_k(p, 2, ids);
    const double p1 = p[static_cast<std::size_t>(ids[0])], p2 = p[static_cast<std::size_t>(ids[1])];
    const double g1 = p1 / (p1 + p2), g2 = p2 / (p1 + p2);
    // A NaN weight is dispatched, so that the token's output is NaN and nobody takes it for one.
    const bool drawn = !(static_cast<double>(uniforms(t)) >= 2 * g2);
    c.ids.insert(c.ids.end(), {ids[0], drawn ? ids[1] : -1});
    c.weights.insert(c.weights.end(), {static_cast<float>(g1), drawn ? static_cast<float>(g2) : 0});
  }
  return c;
}

CapacityPlan place(const Choices& c, std::int64_t capacity, DropPolicy policy, AfterDrop after) {
  require(capacity >= 0, "capacity: {} an expert", counted(capacity, "row"));
  check(c);
  CapacityPlan plan{.tokens = c.tokens, .experts = c.experts, .top_k = c.top_k};
  plan.capacity = capacity;
  plan.ids.assign(c.ids.size(), -1);
  plan.weights.assign(c.ids.size(), 0);
  plan.place.assign(c.ids.size(), -1);
  plan.load.assign(static_cast<std::size_t>(c.experts), 0);
  const std::vector<std::size_t> slots = by_priority(c);
  for (int e = 0; e < c.experts; ++e) {
    std::vector<std::size_t> wanted;
    std::copy_if(slots.begin(), slots.end(), std::back_inserter(wanted),
                 [&](std::size_t slot) { return c.ids[slot] == e; });
    std::vector<std::size_t> kept = wanted;
    if (policy == DropPolicy::kProbability) {
      const auto key = [&](std::size_t s) { return std::isnan(c.weights[s]) ? -1 : c.weights[s]; };
      std::ranges::stable_sort(kept, [&](auto a, auto b) { return key(a) > key(b); });
    }
    kept.resize(std::min(kept.size(), static_cast<std::size_t>(capacity)));
    plan.load[static_cast<std::size_t>(e)] = std::ssize(wanted);
    plan.dropped += std::ssize(wanted) - std::ssize(kept);
    int next = 0;
    for (std::size_t slot : wanted) {  // places in the order of asking, whoever was kept
      if (std::ranges::find(kept, slot) == kept.end()) continue;
      plan.ids[slot] = e;
      plan.weights[slot] = c.weights[slot];
      plan.place[slot] = next++;
    }
  }
  if (after == AfterDrop::kRenormalize) renormalize(plan);
  return plan;
}

RoutingPlan routing_plan(const CapacityPlan& plan) {
  RoutingPlan all{.tokens = plan.tokens, .experts = plan.experts, .top_k = plan.top_k};
  all.ids = plan.ids;
  all.weights = plan.weights;
  sort_slots(all);
  return all;
}

bool is_sparse(Placement placement, std::int64_t block) {
  require(placement.first_dense >= 0 && placement.period >= 1,
          "placement: {} dense layers first, must be 0 or more; period {}, must be 1 or more",
          placement.first_dense, placement.period);
  require(block >= 0 && block < INT64_MAX, "placement: block {}", block);
  return block >= placement.first_dense && (block + 1) % placement.period == 0;
}

}  // namespace octavo::switch_routing
