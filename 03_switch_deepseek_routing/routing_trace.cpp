#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "03_switch_deepseek_routing/expert_cache.h"
#include "common/base/counted.h"
#include "common/base/error.h"
#include "common/base/philox.h"

namespace octavo::switch_routing {
namespace {

// A stream of uniforms.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  double roll() { return static_cast<double>(uniform(seed_, 0, position_++, Purpose::kTest)); }

 private:
  std::uint64_t seed_, position_ = 0;
};

// Experts of a layer from popular to rare, and their summed probabilities in that order.
struct Popularity {
  std::vector<int> order;
  std::vector<double> sums;

  Popularity(std::int64_t experts, double skew, Dice& dice) {
    order.resize(static_cast<std::size_t>(experts));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) {  // Fisher and Yates
      std::swap(order[i - 1],
                order[static_cast<std::size_t>(dice.roll() * static_cast<double>(i))]);
    }
    double sum = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      sums.push_back(sum += std::pow(static_cast<double>(i + 1), -skew));
    }
  }

  int draw(Dice& dice) const {
    const auto at = std::ranges::upper_bound(sums, dice.roll() * sums.back());
    return order[std::min(static_cast<std::size_t>(at - sums.begin()), order.size() - 1)];
  }
};

// Experts are drawn until a token has its k, so the k-th must not be too rare.
constexpr double kRarest = 1e-5;
// Layers, experts of a layer and tokens of a step, and steps.
constexpr std::int64_t kMost = 1 << 16, kMostSteps = 1 << 30;

// A whole number from 0 to `most`.
std::int64_t whole(const nlohmann::json& value, std::int64_t most, const std::string& path,
                   const char* what) {
  const bool fits = value.is_number_integer() && value >= 0 && value <= most;
  require(fits, "{}: {} is {}, must be a whole number from 0 to {}", path, what, value.dump(),
          most);
  return value.get<std::int64_t>();
}

// One step's experts in one layer.
std::vector<int> uses_of(const nlohmann::json& list, std::int64_t experts,
                         const std::string& path) {
  std::set<int> uses;
  for (const nlohmann::json& e : list.get_ref<const nlohmann::json::array_t&>()) {
    uses.insert(static_cast<int>(whole(e, experts - 1, path, "an expert")));
  }
  require(uses.size() == list.size(), "{}: the experts {} of a step are not distinct", path,
          list.dump());
  return list.get<std::vector<int>>();
}

}  // namespace

RoutingTrace synthetic_trace(const TraceShape& s) {
  require(s.top_k >= 1 && s.top_k <= s.experts && s.layers >= 1 && s.batch >= 1 && s.steps >= 0 &&
              s.stay >= 0 && s.stay < 1 && s.skew >= 0,
          "routing trace: {} of {} experts in {} layers, {} tokens a step, stay {}, skew {}",
          s.top_k, s.experts, s.layers, s.batch, s.stay, s.skew);
  // So that no product of two sizes overflows; any real trace is far below.
  require(s.experts <= kMost && s.layers <= kMost && s.batch <= kMost && s.steps <= kMostSteps,
          "routing trace: {} experts, {} layers and {} tokens must be at most {}, {} steps at most "
          "{}",
          s.experts, s.layers, s.batch, kMost, s.steps, kMostSteps);
  const double rarest = std::pow(static_cast<double>(s.top_k), -s.skew);
  require(rarest >= kRarest,
          "routing trace: with skew {} expert {} is {:.1g} times as popular as the first, must be "
          "{} times or more: a token would never find {} experts",
          s.skew, s.top_k, rarest, kRarest, s.top_k);
  Dice dice(s.seed);
  std::vector<Popularity> popular;
  for (std::int64_t l = 0; l < s.layers; ++l) popular.emplace_back(s.experts, s.skew, dice);
  std::vector<std::set<int>> last(static_cast<std::size_t>(s.layers * s.batch));
  RoutingTrace trace{.layers = s.layers, .experts = s.experts};
  for (std::int64_t i = 0; i < s.steps * s.layers; ++i) {
    const std::int64_t layer = i % s.layers;
    std::set<int> all;
    for (std::int64_t b = 0; b < s.batch; ++b) {
      std::set<int>& token = last[static_cast<std::size_t>(layer * s.batch + b)];
      std::erase_if(token, [&](int) { return dice.roll() >= s.stay; });
      while (std::ssize(token) < s.top_k) {
        token.insert(popular[static_cast<std::size_t>(layer)].draw(dice));
      }
      all.insert(token.begin(), token.end());
    }
    trace.uses.emplace_back(all.begin(), all.end());
  }
  return trace;
}

RoutingTrace read_trace(const std::string& path) {
  std::ifstream file(path);
  require(file.good(), "{} cannot be read", path);
  try {
    const nlohmann::json json = nlohmann::json::parse(file);
    RoutingTrace trace{.layers = whole(json.at("layers"), kMost, path, "layers"),
                       .experts = whole(json.at("experts"), kMost, path, "experts")};
    for (const nlohmann::json& list : json.at("uses")) {
      trace.uses.push_back(uses_of(list, trace.experts, path));
    }
    require(trace.layers >= 1 && !trace.uses.empty() && std::ssize(trace.uses) % trace.layers == 0,
            "{}: a list of {} is not one or more whole steps of {}", path,
            counted(trace.uses.size(), "use"), counted(trace.layers, "layer"));
    return trace;
  } catch (const nlohmann::json::exception& e) {
    fail("{} is not a routing trace: {}", path, e.what());
  }
}

}  // namespace octavo::switch_routing
