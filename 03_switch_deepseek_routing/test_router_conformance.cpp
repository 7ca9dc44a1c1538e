// One table of gates, every version, many sizes: ids are equal to those of a plain sort wherever
// scores are further apart than rounding, and on exact ties; weights follow from the ids.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "03_switch_deepseek_routing/topics.h"
#include "03_switch_deepseek_routing/versions.h"
#include "common/base/threads.h"
#include "common/testing/random.h"

namespace octavo::switch_routing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kGap = 1e-6;  // scores closer than this may change places, unless they are equal

struct Gate {
  const char* name;
  GateScore score;
  GroupScore group_score;
  std::int64_t groups, top_groups;  // where they divide E with two or more in each; else 1
  bool bias, normalize;
  double scaling;
};

// DeepSeek-V3, DeepSeek-V2, then each field by itself and against the others.
const Gate kGates[] = {
    {"v3", GateScore::kSigmoid, GroupScore::kBestTwo, 8, 4, true, true, 2.5},
    {"v2", GateScore::kSoftmax, GroupScore::kBest, 8, 3, false, false, 16},
    {"v2_lite", GateScore::kSoftmax, GroupScore::kBest, 1, 1, false, false, 1},
    {"sigmoid", GateScore::kSigmoid, GroupScore::kBestTwo, 1, 1, false, false, 1},
    {"sigmoid_norm_scale", GateScore::kSigmoid, GroupScore::kBestTwo, 1, 1, false, true, 3},
    {"sigmoid_scale", GateScore::kSigmoid, GroupScore::kBestTwo, 1, 1, true, false, 2.5},
    {"softmax_norm", GateScore::kSoftmax, GroupScore::kBest, 4, 2, false, true, 2},
    {"softmax_bias", GateScore::kSoftmax, GroupScore::kBestTwo, 4, 1, true, true, 1},
};

DeepseekRouting routing_of(const Gate& g, std::int64_t E) {
  const bool fits = E % g.groups == 0 && E / g.groups >= 2;
  DeepseekRouting r{.experts = E,
                    .groups = fits ? g.groups : 1,
                    .top_groups = fits ? g.top_groups : 1,
                    .normalize = g.normalize,
                    .scaling = g.scaling,
                    .score = g.score,
                    .group_score = g.group_score};
  r.top_k = std::min<std::int64_t>(8, E / r.groups * r.top_groups);
  return r;
}

struct Result {
  std::vector<int> ids;        // [T, k]
  std::vector<float> weights;  // [T, k]
};

// A run of one version, or of the reference where `version` is null.
Result run(const Version<GroupedTopKArgs>* version, const DeepseekRouting& r,
           const std::vector<float>& logits, const std::vector<float>& bias) {
  const std::int64_t T = std::ssize(logits) / r.experts;
  Result out{std::vector<int>(static_cast<std::size_t>(T * r.top_k), -7), {}};
  out.weights.resize(out.ids.size());
  const GroupedTopKArgs args{.logits = {logits.data(), {T, r.experts}},
                             .bias = {bias.data(), {std::ssize(bias)}},
                             .routing = r,
                             .ids = {out.ids.data(), {T, r.top_k}},
                             .weights = {out.weights.data(), {T, r.top_k}}};
  if (version == nullptr) {
    grouped_top_k_reference(args);
    return out;
  }
  static ThreadPool threads(2);
  Exec exec(device_of(version->backend), DType::kF32, threads, 0);
  version->run(exec, args, {});
  exec.stream.synchronize();
  return out;
}

// The reference, then the host's versions and the executor's that take the gate.
std::vector<const Version<GroupedTopKArgs>*> versions(const DeepseekRouting& r) {
  static const Registry registry = [] {
    Registry all;
    append_versions(all);
    return all;
  }();
  std::vector<const Version<GroupedTopKArgs>*> found = {nullptr};
  for (const auto& v : registry.versions<GroupedTopKArgs>("grouped_top_k")) {
    if (v.backend != Backend::kCuda && v.takes({.routing = r}, device_of(v.backend), DType::kF32)) {
      found.push_back(&v);
    }
  }
  return found;
}

struct Scores {
  std::vector<double> s, b;  // [E]; b is -inf in the groups that are not kept
  double group_gap = kInf;   // between the last group that is kept and the first that is not
};

// Equations 8 and 9 from the definition, by sorting.
Scores scores_of(const DeepseekRouting& r, const float* z, const std::vector<float>& bias) {
  const auto E = static_cast<std::size_t>(r.experts);
  Scores out{std::vector<double>(E), {}};
  for (std::size_t e = 0; e < E; ++e) out.s[e] = std::exp(static_cast<double>(z[e]));
  const double sum = std::accumulate(out.s.begin(), out.s.end(), 0.0);
  for (double& s : out.s) s = r.score == GateScore::kSoftmax ? s / sum : s / (1 + s);
  out.b = out.s;
  for (std::size_t e = 0; e < bias.size(); ++e) out.b[e] += static_cast<double>(bias[e]);
  const std::size_t size = E / static_cast<std::size_t>(r.groups);
  std::vector<std::pair<double, std::size_t>> groups;
  for (std::size_t g = 0; g * size < E; ++g) {
    std::vector<double> in(out.b.begin() + static_cast<std::ptrdiff_t>(g * size),
                           out.b.begin() + static_cast<std::ptrdiff_t>((g + 1) * size));
    std::ranges::sort(in);
    const double best = in[size - 1];
    groups.emplace_back(
        -(r.group_score == GroupScore::kBest || size == 1 ? best : best + in[size - 2]), g);
  }
  std::ranges::sort(groups);
  for (auto g = static_cast<std::size_t>(r.top_groups); g < groups.size(); ++g) {
    if (g == static_cast<std::size_t>(r.top_groups)) {
      out.group_gap = groups[g].first - groups[g - 1].first;
    }
    std::fill_n(out.b.begin() + static_cast<std::ptrdiff_t>(groups[g].second * size), size, -kInf);
  }
  return out;
}

// Everything that is wrong with the choices of one row.
void expect_row(const DeepseekRouting& r, const Scores& scores, const int* ids,
                const float* weights) {
  std::vector<std::pair<double, int>> order;
  for (int e = 0; e < r.experts; ++e) {
    order.emplace_back(-scores.b[static_cast<std::size_t>(e)], e);
  }
  std::ranges::sort(order);
  double sum = 0;
  for (std::int64_t j = 0; j < r.top_k; ++j) sum += scores.s[static_cast<std::size_t>(ids[j])];
  for (std::int64_t j = 0; j < r.top_k; ++j) {
    const auto [negative, id] = order[static_cast<std::size_t>(j)];
    const double chosen = scores.b[static_cast<std::size_t>(ids[j])];
    if (ids[j] != id) {
      EXPECT_LE(std::abs(-negative - chosen), kGap) << "choice " << j;
    }
    if (-negative == chosen) {
      EXPECT_EQ(ids[j], id) << "an exact tie, choice " << j;
    }
    const double w = scores.s[static_cast<std::size_t>(ids[j])] / (r.normalize ? sum : 1);
    EXPECT_NEAR(weights[j], w * r.scaling, 1e-5 * r.scaling);
  }
}

class RouterConformance : public ::testing::TestWithParam<Gate> {
 protected:
  void check(std::int64_t T, std::int64_t E) {
    const DeepseekRouting r = routing_of(GetParam(), E);
    const std::vector<float> logits = testing::normal(T * E, static_cast<std::uint32_t>(E), 2.0);
    std::vector<float> bias;
    if (GetParam().bias) bias = testing::normal(E, 4, 0.7);
    for (float& b : bias) b = -1.5f - std::abs(b);  // a mask or a sentinel of 0 would win
    for (const auto* version : versions(r)) {
      SCOPED_TRACE(fmt::format("T {} E {} {}", T, E,
                               version != nullptr ? version->name : std::string_view("reference")));
      const Result got = run(version, r, logits, bias);
      for (std::int64_t t = 0; t < T; ++t) {
        const Scores scores = scores_of(r, logits.data() + t * E, bias);
        if (scores.group_gap < kGap) continue;
        expect_row(r, scores, got.ids.data() + t * r.top_k, got.weights.data() + t * r.top_k);
      }
    }
  }
};

TEST_P(RouterConformance, ForEveryNumberOfExperts) {
  for (std::int64_t E : {1, 3, 5, 60, 64, 65, 160, 256, 257, 384, 513, 1024}) check(5, E);
}

TEST_P(RouterConformance, ForEveryNumberOfTokens) {
  for (std::int64_t T = 0; T <= 17; ++T) check(T, 16);
  for (std::int64_t T : {63, 64, 65, 1000}) check(T, 8);
}

// Rows without scores get k distinct ids and NaN weights; the rows around them do not notice.
TEST_P(RouterConformance, BadRowsStayAlone) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr auto kFloatInf = static_cast<float>(kInf);
  constexpr std::int64_t E = 64;
  const DeepseekRouting r = routing_of(GetParam(), E);
  const bool softmax = r.score == GateScore::kSoftmax;
  const std::vector<float> clean = testing::normal(3 * E, 9);
  for (const auto* version : versions(r)) {
    const Result want = run(version, r, clean, {});
    for (float value : {kNan, kFloatInf, -kFloatInf}) {
      for (bool all : {false, true}) {
        std::vector<float> dirty = clean;
        std::fill_n(dirty.begin() + E + (all ? 0 : 17), all ? E : 1, value);
        const Result got = run(version, r, dirty, {});
        const bool bad = std::isnan(value) || (softmax && (value > 0 || all));
        std::set<int> distinct;
        for (std::int64_t s = 0; s < 3 * r.top_k; ++s) {
          const auto i = static_cast<std::size_t>(s);
          if (s / r.top_k == 1) {
            distinct.insert(got.ids[i]);
            EXPECT_TRUE(got.ids[i] >= 0 && got.ids[i] < E);
            EXPECT_EQ(std::isnan(got.weights[i]), bad) << value << all;
            EXPECT_TRUE(!bad || got.ids[i] == s % r.top_k) << value << all;
          } else {
            EXPECT_EQ(got.ids[i], want.ids[i]);
            EXPECT_EQ(got.weights[i], want.weights[i]);
          }
        }
        EXPECT_EQ(std::ssize(distinct), r.top_k);
      }
    }
  }
}

// Every score equal, then all that are not the first so small that they round to 0, then equal
// groups: the lower id, the lower group.
TEST_P(RouterConformance, TiesGoToTheLower) {
  for (std::int64_t E : {3, 60, 64, 160, 256}) {
    const DeepseekRouting r = routing_of(GetParam(), E);
    std::vector<int> want(static_cast<std::size_t>(r.top_k));
    std::iota(want.begin(), want.end(), 0);
    const std::int64_t size = E / r.groups;
    for (const auto* version : versions(r)) {
      for (float value : {0.5f, -200.0f}) {
        std::vector<float> equal(static_cast<std::size_t>(E), value);
        for (const float first : {value, 0.5f}) {
          equal[0] = first;
          const Result got = run(version, r, equal, {});
          EXPECT_EQ(got.ids, want);
          EXPECT_TRUE(std::ranges::none_of(got.weights, [](float w) { return std::isnan(w); }));
        }
      }
      // The last expert of each group is the best of it.
      std::vector<float> logits(static_cast<std::size_t>(E), -1.0f);
      for (std::int64_t g = 0; g < r.groups; ++g) {
        logits[static_cast<std::size_t>((g + 1) * size - 1)] = 1;
      }
      const Result got = run(version, r, logits, {});
      for (std::int64_t g = 0; g < std::min(r.top_groups, r.top_k); ++g) {
        EXPECT_EQ(got.ids[static_cast<std::size_t>(g)], (g + 1) * size - 1);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Gates, RouterConformance, ::testing::ValuesIn(kGates),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Softmax, IsOfDifferencesOnEveryVersion) {
  std::vector<float> near = testing::normal(4 * 64, 12, 2.0);
  for (float& z : near) z = std::round(4 * z) / 4;  // so that the sums below are exact
  for (const Gate& g : kGates) {
    if (g.score != GateScore::kSoftmax) continue;
    const DeepseekRouting r = routing_of(g, 64);
    for (float shift : {-1000.0f, 1000.0f}) {
      std::vector<float> far = near;
      for (float& z : far) z += shift;
      for (const auto* version : versions(r)) {
        EXPECT_EQ(run(version, r, far, {}).weights, run(version, r, near, {}).weights);
      }
    }
  }
}

// The cases of the README, on every version.
TEST(DeepseekVectors, OnEveryVersion) {
  const auto choice = [](const Version<GroupedTopKArgs>* version, DeepseekRouting r,
                         const std::vector<float>& b) {
    std::vector<float> bias = b;
    for (float& value : bias) value -= 0.5f;  // every score is 1/2
    return run(version, r, std::vector<float>(b.size()), bias).ids;
  };
  const DeepseekRouting pairs{.experts = 4, .top_k = 2, .groups = 2, .top_groups = 1};
  DeepseekRouting one = pairs, best = pairs;
  one.top_k = best.top_k = 1;
  best.group_score = GroupScore::kBest;
  for (const auto* v : versions(pairs)) {
    EXPECT_EQ(choice(v, pairs, {0.5f, -0.2f, -0.3f, -0.4f}), (std::vector<int>{0, 1}));
    EXPECT_EQ(choice(v, one, {0.9f, 0.1f, 0.6f, 0.55f}), (std::vector<int>{2}));   // V3: sum
    EXPECT_EQ(choice(v, best, {0.9f, 0.1f, 0.6f, 0.55f}), (std::vector<int>{0}));  // V2: best
    EXPECT_EQ(choice(v, {.experts = 4, .top_k = 3}, {-3, -1, -2, -4}), (std::vector<int>{1, 2, 0}));
    EXPECT_NEAR(run(v, {.experts = 2, .top_k = 2}, {-40, -40}, {}).weights[0], 0.5, 1e-3);  // 4e-18
  }
}

}  // namespace
}  // namespace octavo::switch_routing
