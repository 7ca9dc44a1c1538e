// Equations 8 to 11: logits [T, E] -> ids and weights [T, k], a gate of DeepSeek's in one launch.
//
// Idea: the row stays in registers. A lane owns v = ceil(E / 32) neighbouring experts, so that a
// group is a few neighbouring lanes, whose best two meet by shuffles. In the k rounds each lane
// keeps the best of its own experts at hand; when one is chosen, only the lane that owned it looks
// again. A row of 32 V logits comes in loads of 16 bytes and whole sectors; of another length, in
// loads of 4 that meet their sectors several times, which the L1 cache serves.
//
// What it should improve: k E reads of shared memory become k reductions of 5 shuffles each and k
// looks at v registers; no shared memory, so that more rows are on their way at once. What limits
// it: those reductions, one after the other; for a batch of decodes the launch.
//
// Grid: a block of 4 warps for 4 rows. FLOPs: about 4 T E. Bytes: 4 T E read, 8 T k written.
// Instantiations: at most 2, 8, 16 and 32 experts a lane.

#include "03_switch_deepseek_routing/gpu_versions.h"
#include "03_switch_deepseek_routing/grouped_top_k_params.h"
#include "common/simt/launch.h"

namespace octavo::switch_routing {
namespace {

using namespace device;

// A lane's experts: first .. first + count - 1, none where count <= 0; their scores and biased
// scores.
template <int V>
struct Lane {
  float s[V], b[V];
  int first, count;
  unsigned taken = 0;  // bit i: expert first + i is chosen, or in a group that is not kept

  // By 16 bytes where the whole row allows it. Those would be half sectors, since a lane's next 16
  // follow its first: so a pair of lanes reads sectors together, first the even lane's, then the
  // odd one's, and each gives the other what it owns.
  __device__ void read(const float* from, int E, float (&to)[V]) const {
    if constexpr (V % 8 == 0) {
      if (E == 32 * V && reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
        const int rank = static_cast<int>(lane_index()), odd = rank & 1;
        const float* const pair = from + (rank - odd) * V + 4 * odd;
        SIMT_UNROLL
        for (int i = 0; i < V; i += 8) {
          const Pack<float, 4> evens = load16(pair + i), odds = load16(pair + V + i);
          SIMT_UNROLL
          for (int c = 0; c < 4; ++c) {
            const float got = __shfl_xor_sync(kFullMask, odd ? evens[c] : odds[c], 1);
            to[i + c] = odd ? got : evens[c];
            to[i + 4 + c] = odd ? odds[c] : got;
          }
        }
        return;
      }
    }
    SIMT_UNROLL
    for (int i = 0; i < V; ++i) to[i] = i < count ? from[first + i] : -INFINITY;
  }

  // The key of the best expert that is not taken, and its score; 0, below every key, if all are.
  __device__ unsigned long long best(float& score) const {
    unsigned long long top = 0;
    SIMT_UNROLL
    for (int i = 0; i < V; ++i) {
      if (i >= count || (taken >> i & 1) != 0) continue;
      const unsigned long long key = choice_key(b[i], first + i);
      if (key > top) {
        top = key;
        score = s[i];
      }
    }
    return top;
  }
};

// Equation 8. Returns false for a row without scores.
template <int V>
__device__ bool score_row(const GateParams& a, int row, Lane<V>& lane) {
  lane.read(a.logits + static_cast<std::size_t>(row) * a.E, a.E, lane.s);
  float top = -INFINITY, sum = 0;
  bool bad = false;
  SIMT_UNROLL
  for (int i = 0; i < V; ++i) {
    bad |= is_nan(lane.s[i]);
    top = fmaxf(top, lane.s[i]);
  }
  if (a.softmax) {
    top = warp_max(top);
    bad |= fabsf(top) == INFINITY;
    SIMT_UNROLL
    for (int i = 0; i < V; ++i) sum += std::exp(lane.s[i] - top);  // 0 where no expert is
    sum = warp_sum(sum);
  }
  if (__any_sync(kFullMask, bad)) return false;
  if (a.bias != nullptr) lane.read(a.bias, a.E, lane.b);
  SIMT_UNROLL
  for (int i = 0; i < V; ++i) {
    lane.s[i] = a.softmax ? std::exp(lane.s[i] - top) / sum : sigmoid_score(lane.s[i]);
    lane.b[i] = a.bias != nullptr ? lane.s[i] + lane.b[i] : lane.s[i];
  }
  return true;
}

// Equation 9. A group is `width` neighbouring lanes, a power of two.
template <int V>
__device__ void mask_groups(const GateParams& a, Lane<V>& lane) {
  const int width = 32 / a.groups, rank = static_cast<int>(lane_index());
  BestTwo best;
  SIMT_UNROLL
  for (int i = 0; i < V; ++i) {
    if (i < lane.count) best.take(lane.b[i]);
  }
  for (int bits = 1; bits < width; bits *= 2) {
    const float first = __shfl_xor_sync(kFullMask, best.first, bits);
    const float second = __shfl_xor_sync(kFullMask, best.second, bits);
    best.take(first);
    best.take(second);
  }
  const float mine = a.best_two ? best.first + best.second : best.first;
  const float score = __shfl_sync(kFullMask, mine, rank * width % 32);  // lane g: of group g
  const unsigned kept = __ballot_sync(kFullMask, group_is_kept(score, a.groups, a.top_groups));
  if ((kept >> rank / width & 1) == 0) lane.taken = ~0u;
}

// A warp owns a row.
template <int V>
__global__ void __launch_bounds__(kGateThreads) registers_kernel(GateParams a) {
  const int rank = static_cast<int>(lane_index());
  const int row = blockIdx.x * kGateWarps + threadIdx.x / 32;
  if (row >= a.T) return;  // the whole warp; nobody waits for it
  const int each = (a.E + 31) / 32;
  Lane<V> lane;
  lane.first = rank * each;
  lane.count = min(each, a.E - lane.first);
  if (!score_row(a, row, lane)) return write_bad_row(a, row);
  if (a.top_groups < a.groups) mask_groups(a, lane);
  int id = 0;
  float score = 0, own_score = 0;
  unsigned long long own = lane.best(own_score);
  for (int j = 0; j < a.k; ++j) {
    const int chosen = id_of(warp_max(own)), owner = chosen / each;
    const float s = __shfl_sync(kFullMask, own_score, owner);
    if (j == rank) {
      id = chosen;
      score = s;
    }
    if (owner == rank) {
      lane.taken |= 1u << (chosen - lane.first);
      own = lane.best(own_score);
    }
  }
  write_row(a, row, id, score);
}

// Groups that are whole lanes: E a multiple of 32 and a power of two of groups, such as 256 in 8
// (V3) and 160 in 8 (V2); or no groups.
bool groups_are_lanes(const DeepseekRouting& r) {
  return r.top_groups == r.groups || (r.experts % 32 == 0 && 32 % r.groups == 0);
}

bool supports(const GroupedTopKArgs& a, const Device&) {
  const DeepseekRouting& r = a.routing;
  return r.experts <= kMostExperts && r.top_k <= kMostChoices && groups_are_lanes(r);
}

std::vector<LaunchConfig> launches(const GroupedTopKArgs& a, const Device&) {
  if (a.rows() == 0) return {};
  return {
      {.kernel = "registers", .grid = {ceil_div(a.rows(), kGateWarps)}, .block = {kGateThreads}}};
}

void run(Exec& exec, const GroupedTopKArgs& a, const Prepared&) {
  const GateParams p = params_of(a);
  require(groups_are_lanes(a.routing), "router: {} experts in {} groups are not whole lanes each",
          a.routing.experts, a.routing.groups);
  const std::int64_t each = ceil_div(a.routing.experts, 32);
  for (const LaunchConfig& l : launches(a, exec.device)) {
    const auto with = [&](auto kernel) { launch(kernel, l, exec.stream, p); };
    if (each <= 2) {
      with(registers_kernel<2>);
    } else if (each <= 8) {
      with(registers_kernel<8>);
    } else if (each <= 16) {
      with(registers_kernel<16>);
    } else {
      with(registers_kernel<32>);
    }
  }
}

}  // namespace

namespace SIMT_BACKEND {

Version<GroupedTopKArgs> grouped_top_k_gpu_v2_registers() {
  return {.name = "gpu_v2_registers",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .supports = supports,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::switch_routing
