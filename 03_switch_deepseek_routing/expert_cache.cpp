#include "03_switch_deepseek_routing/expert_cache.h"

#include <algorithm>
#include <limits>

#include "common/base/counted.h"
#include "common/base/error.h"

namespace octavo::switch_routing {
namespace {

// The cache of one layer, and what the policies know of its experts.
class LayerCache {
 public:
  LayerCache(const CacheSettings& settings, std::int64_t experts)
      : settings_(settings), known_(static_cast<std::size_t>(experts)) {}

  struct Known {
    bool here = false, ahead = false;  // ahead: fetched ahead and not used yet
    std::int64_t last = -1, uses = 0, next = 0;
  };
  Known& of(int e) { return known_[static_cast<std::size_t>(e)]; }

  // Makes room and puts expert e there; `wanted` are in use and stay. Without a slot to free, e
  // passes through.
  void put(int e, const std::vector<int>& wanted) {
    int here = 0, out = -1;
    for (int f = 0; f < static_cast<int>(known_.size()); ++f) {
      if (!of(f).here) continue;
      ++here;
      const bool stays = std::ranges::find(wanted, f) != wanted.end();
      if (!stays && (out < 0 || leaves_before(of(f), of(out)))) out = f;
    }
    if (here >= settings_.slots) {
      if (out < 0) return;
      of(out).here = false;
    }
    of(e).here = true;
  }

 private:
  bool leaves_before(const Known& a, const Known& b) const {
    if (settings_.policy == CachePolicy::kOracle && a.next != b.next) return a.next > b.next;
    if (settings_.policy == CachePolicy::kLfu && a.uses != b.uses) return a.uses < b.uses;
    return a.last < b.last;
  }

  const CacheSettings& settings_;
  std::vector<Known> known_;
};

constexpr std::int64_t kMostFollowed = 4096;  // 128 MiB of counts a layer

// What followed what: counts [E, E] of a layer's experts and the next layer's.
class Followers {
 public:
  explicit Followers(std::int64_t experts)
      : E_(static_cast<std::size_t>(experts)), counts_(E_ * E_) {}

  void learn(const std::vector<int>& now, const std::vector<int>& next) {
    for (int a : now) {
      for (int b : next) ++counts_[static_cast<std::size_t>(a) * E_ + static_cast<std::size_t>(b)];
    }
  }

  // The n experts that have followed `now` most often, those that have never left out.
  std::vector<int> guess(const std::vector<int>& now, std::int64_t n) const {
    std::vector<std::pair<std::int64_t, int>> scored;
    for (std::size_t b = 0; b < E_; ++b) {
      std::int64_t sum = 0;
      for (int a : now) sum += counts_[static_cast<std::size_t>(a) * E_ + b];
      if (sum > 0) scored.emplace_back(-sum, static_cast<int>(b));
    }
    std::ranges::sort(scored);
    std::vector<int> best;
    for (const auto& [score, e] : scored) {
      if (std::ssize(best) < n) best.push_back(e);
    }
    return best;
  }

 private:
  std::size_t E_;
  std::vector<std::int64_t> counts_;
};

// next_use[i][j]: the step in which the j-th expert of uses[i] is used again in its layer.
std::vector<std::vector<std::int64_t>> next_uses(const RoutingTrace& trace) {
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  std::vector<std::vector<std::int64_t>> next(trace.uses.size());
  std::vector<std::int64_t> seen(static_cast<std::size_t>(trace.layers * trace.experts), kNever);
  for (std::size_t i = trace.uses.size(); i-- > 0;) {
    const std::int64_t layer = static_cast<std::int64_t>(i) % trace.layers;
    for (int e : trace.uses[i]) {
      std::int64_t& at = seen[static_cast<std::size_t>(layer * trace.experts + e)];
      next[i].push_back(at);
      at = static_cast<std::int64_t>(i) / trace.layers;
    }
  }
  return next;
}

// Uses the experts of one layer in one step. Returns the misses.
int use(LayerCache& cache, const std::vector<int>& experts, const std::vector<std::int64_t>& next,
        std::int64_t step, CacheCounts& counts) {
  int misses = 0;
  std::vector<int> missing;
  for (std::size_t j = 0; j < experts.size(); ++j) {
    LayerCache::Known& known = cache.of(experts[j]);
    if (known.here) {
      ++counts.hits;
      counts.prefetch_used += known.ahead ? 1 : 0;
    } else {
      ++misses;
      missing.push_back(experts[j]);
    }
    known.ahead = false;
    known.last = step;
    known.next = next[j];
    ++known.uses;
  }
  for (int e : missing) cache.put(e, experts);
  counts.uses += std::ssize(experts);
  return misses;
}

}  // namespace

void check(const RoutingTrace& t) {
  require(t.layers >= 1 && t.experts >= 0 && t.experts <= INT32_MAX &&
              std::ssize(t.uses) % t.layers == 0,
          "routing trace: {} uses of {} experts are not whole steps of {} layers", t.uses.size(),
          t.experts, t.layers);
  for (const std::vector<int>& uses : t.uses) {
    std::vector<int> sorted(uses);
    std::ranges::sort(sorted);
    require(std::ranges::adjacent_find(sorted) == sorted.end() &&
                (sorted.empty() || (sorted.front() >= 0 && sorted.back() < t.experts)),
            "routing trace: a step's experts in a layer are not distinct, or not from 0 to {}",
            t.experts - 1);
  }
}

CacheCounts replay(const RoutingTrace& trace, const CacheSettings& settings) {
  check(trace);
  require(settings.slots >= 1 && settings.prefetch >= 0, "expert cache: {}, {} ahead",
          counted(settings.slots, "slot"), settings.prefetch);
  CacheCounts counts;
  const auto L = static_cast<std::size_t>(trace.layers);
  std::vector<LayerCache> caches(L, LayerCache(settings, trace.experts));
  const std::int64_t followed = settings.prefetch > 0 ? trace.experts : 0;
  require(followed <= kMostFollowed, "expert cache: {} experts, at most {} to fetch ahead from",
          followed, kMostFollowed);
  std::vector<Followers> followers(L, Followers(followed));
  const auto next = next_uses(trace);
  for (std::size_t i = 0; i < trace.uses.size(); ++i) {
    const std::size_t layer = i % L;
    const auto step = static_cast<std::int64_t>(i / L);
    counts.layer_misses.push_back(use(caches[layer], trace.uses[i], next[i], step, counts));
    int fetched = 0;
    if (layer + 1 < L && settings.prefetch > 0) {
      const std::vector<int> guess = followers[layer].guess(trace.uses[i], settings.prefetch);
      for (int e : guess) {
        LayerCache::Known& known = caches[layer + 1].of(e);
        known.last = step;
        if (known.here) continue;
        caches[layer + 1].put(e, guess);
        known.ahead = known.here;
        fetched += known.here ? 1 : 0;
      }
      followers[layer].learn(trace.uses[i], trace.uses[i + 1]);
    }
    counts.layer_prefetches.push_back(fetched);
    counts.prefetched += fetched;
  }
  return counts;
}

double step_seconds(const RoutingTrace& trace, const CacheCounts& counts, double expert_bytes,
                    double other_bytes, const OffloadMachine& machine) {
  check(trace);
  require(trace.steps() >= 1 && counts.layer_misses.size() == trace.uses.size() &&
              counts.layer_prefetches.size() == trace.uses.size(),
          "expert cache: misses of {} and prefetches of {} layers for a trace of {}",
          counts.layer_misses.size(), counts.layer_prefetches.size(), trace.uses.size());
  require(machine.link > 0 && machine.memory > 0,
          "expert cache: a link of {} and a memory of {} bytes/s, must be above 0", machine.link,
          machine.memory);
  double seconds = 0;
  for (std::size_t i = 0; i < trace.uses.size(); ++i) {  // equation 15
    const double compute =
        static_cast<double>(trace.uses[i].size()) * expert_bytes / machine.memory;
    const double ahead = counts.layer_prefetches[i] * expert_bytes / machine.link;
    seconds += std::max(compute, ahead) + counts.layer_misses[i] * expert_bytes / machine.link;
  }
  return seconds / static_cast<double>(trace.steps()) + other_bytes / machine.memory;
}

}  // namespace octavo::switch_routing
