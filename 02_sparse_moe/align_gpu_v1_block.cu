// offsets, order = a stable counting sort of the slots by expert; ids, order [T k], offsets [E +
// 1].
//
// Idea: one block. A thread takes a run of neighbouring slots and counts them in a histogram of its
// own, so that nobody waits and no order is lost; scans over the threads and over the experts turn
// counts into places; then each thread walks its run again and puts every slot where it belongs.
//
// What limits it: one multiprocessor of a hundred works, threads read ids a run apart, which is a
// sector each, and E histograms of 128 threads must fit in shared memory.
//
// Grid: one block of 128 threads. Bytes: ids twice, order and offsets once, 12 T k in all.

#include "02_sparse_moe/align_params.h"
#include "02_sparse_moe/gpu_versions.h"
#include "common/simt/launch.h"

namespace octavo::sparse_moe {
namespace {

using namespace device;
using namespace simt;

constexpr int kThreads = 128, kWarps = kThreads / 32;
constexpr std::int64_t kExperts = 256;

// counts [E][kThreads] become places inside an expert; a warp takes an expert, in turns. totals
// [E] gets the sums.
__device__ void scan_threads(int* counts, int* totals, int E) {
  const int lane = threadIdx.x % 32;
  for (int e = threadIdx.x / 32; e < E; e += kWarps) {
    int before = 0;
    for (int i = lane; i < kThreads; i += 32) {
      const int count = counts[e * kThreads + i], sum = inclusive_sum(count);
      counts[e * kThreads + i] = before + sum - count;
      before += __shfl_sync(kFullMask, sum, 31);
    }
    if (lane == 0) totals[e] = before;
  }
}

// totals [E + 1] become the experts' starts, also in offsets. One warp.
__device__ void scan_experts(int* totals, int* offsets, int E) {
  int before = 0;
  for (int e0 = 0; e0 <= E; e0 += 32) {
    const int e = e0 + threadIdx.x, count = e < E ? totals[e] : 0, sum = inclusive_sum(count);
    if (e <= E) totals[e] = offsets[e] = before + sum - count;
    before += __shfl_sync(kFullMask, sum, 31);
  }
}

// The block owns everything; thread i the slots from i * run on, and column i of the counts.
__global__ void __launch_bounds__(kThreads) block_kernel(AlignParams a) {
  int* const counts = dynamic_shared<int>();    // [E][kThreads]
  int* const starts = counts + a.E * kThreads;  // [E + 1]
  const int run = (a.slots + kThreads - 1) / kThreads, me = threadIdx.x;
  const int first = me * run, last = min(first + run, a.slots);  // none: first >= last
  for (int e = 0; e < a.E; ++e) counts[e * kThreads + me] = 0;
  for (int slot = first; slot < last; ++slot) {
    const int id = a.ids[slot];
    if (a.is_expert(id)) ++counts[id * kThreads + me];
  }
  __syncthreads();  // all have counted
  scan_threads(counts, starts, a.E);
  __syncthreads();  // the totals are there
  if (me < 32) scan_experts(starts, a.offsets, a.E);
  __syncthreads();  // the starts are there
  for (int slot = first; slot < last; ++slot) {
    const int id = a.ids[slot];
    if (a.is_expert(id)) a.order[starts[id] + counts[id * kThreads + me]++] = slot;
  }
  for (int i = starts[a.E] + me; i < a.slots; i += kThreads) a.order[i] = -1;
}

std::vector<LaunchConfig> launches(const AlignArgs& a, const Device&) {
  return {{.kernel = "block",
           .block = {kThreads},
           .shared_bytes = (a.experts() * (kThreads + 1) + 1) * std::int64_t{sizeof(int)},
           .needs_whole_grid = true}};
}

void run(Exec& exec, const AlignArgs& args, const Prepared&) {
  const AlignParams a = params_of(args, kExperts);
  for (const LaunchConfig& l : launches(args, exec.device)) launch(block_kernel, l, exec.stream, a);
}

}  // namespace

namespace SIMT_BACKEND {

Version<AlignArgs> align_gpu_v1_block() {
  return {.name = "gpu_v1_block",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .supports = [](const AlignArgs& a, const Device&) { return a.experts() <= kExperts; },
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::sparse_moe
