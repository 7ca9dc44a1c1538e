#pragma once
// Experts that live in host memory, and a cache of some of them on the GPU: what a trace of routing
// decisions costs under several policies (Eliseev and Mazur 2023, arXiv 2312.17238, for LRU and
// prefetching). Simulated: no weights are moved.

#include <cstdint>
#include <string>
#include <vector>

namespace octavo::switch_routing {

// Which experts each step uses. A step is one token, or one batch of decodes.
struct RoutingTrace {
  std::int64_t layers = 0, experts = 0;
  std::vector<std::vector<int>> uses = {};  // [steps * layers] distinct experts, step by step

  std::int64_t steps() const { return layers > 0 ? std::ssize(uses) / layers : 0; }
};

// Throws Error for what is none: no layer, no whole number of steps, experts that are not distinct
// within a step's layer or that there are not.
void check(const RoutingTrace& trace);

// T steps of `batch` tokens with k experts each. Expert popularity in a layer falls as 1 /
// rank^skew in an order of the layer's own; with probability `stay` a token keeps an expert of the
// step before. stay in [0, 1), skew >= 0, k^-skew >= 1e-5.
struct TraceShape {
  std::int64_t steps = 0, layers = 0, experts = 0, top_k = 0, batch = 1;
  double skew = 0, stay = 0;
  std::uint64_t seed = 1;
};
RoutingTrace synthetic_trace(const TraceShape& shape);

// A trace as `./run inspect MODEL --chat "..." --trace FILE` writes it: JSON with layers, experts
// and uses. Throws Error for what is not one: sizes up to 65536, distinct experts, one step or
// more.
RoutingTrace read_trace(const std::string& path);

enum class CachePolicy : std::uint8_t {
  kLru,     // the one not used for longest leaves
  kLfu,     // the one used least often leaves, then the one not used for longest
  kOracle,  // the one needed furthest in the future leaves (Belady 1966): nothing can do better
};

struct CacheSettings {
  CachePolicy policy = CachePolicy::kLru;
  std::int64_t slots = 0;  // experts of each layer that fit on the GPU
  // > 0: while a layer computes, so many experts of the next are fetched that have most often
  // followed the present ones so far. They take slots as if they had been used.
  std::int64_t prefetch = 0;
};

struct CacheCounts {
  std::int64_t uses = 0;                   // (step, layer, expert)
  std::int64_t hits = 0;                   // the expert was there when its layer began
  std::int64_t prefetched = 0;             // experts fetched ahead
  std::int64_t prefetch_used = 0;          // of them, those that were used before they left
  std::vector<int> layer_misses = {};      // [steps * layers]
  std::vector<int> layer_prefetches = {};  // [steps * layers] fetched while that layer computes
  // 0 without uses
  double hit_rate() const {
    return uses > 0 ? static_cast<double>(hits) / static_cast<double>(uses) : 0;
  }
};

// Throws Error for what is no trace, for no slots, and for a negative prefetch.
CacheCounts replay(const RoutingTrace& trace, const CacheSettings& settings);

// Equation 15, seconds a step: sum over layers of max(compute, prefetches b / link) + misses b /
// link, where compute reads the layer's experts from the GPU's memory, and `other` bytes once a
// step for everything that is not an expert.
struct OffloadMachine {
  double link = 25e9;       // bytes/s from host to GPU
  double memory = 2.04e12;  // bytes/s of the GPU's memory
};
double step_seconds(const RoutingTrace& trace, const CacheCounts& counts, double expert_bytes,
                    double other_bytes, const OffloadMachine& machine);

}  // namespace octavo::switch_routing
