// offsets, order = a stable counting sort of the slots by expert; ids, order [T k], offsets [E +
// 1].
//
// Idea: a block a chunk of 1024 slots. The first kernel counts each chunk's experts; the second
// turns the counts, a row a chunk, into places by running down the columns; in the third a block
// ranks its slots: warps take 128 neighbours each, 32 at a time, and the lanes of one expert find
// their rank by comparing ids. Every step keeps the order of the slots, and no place depends on who
// came first: an atomic rank, the usual short cut, is a different sort every time.
//
// What it should improve: all multiprocessors work, ids are read 32 in a row, and shared memory
// holds 8 counts an expert, not 128. What limits it: three launches, which for a few thousand slots
// cost more than the work (v1 needs one).
//
// Grid: ceil(T k / 1024) blocks of 256 threads, one of 1024, as the first. Bytes: ids three times,
// order and offsets once, and 20 E a chunk.

#include "02_sparse_moe/align_params.h"
#include "02_sparse_moe/gpu_versions.h"
#include "common/simt/launch.h"

namespace octavo::sparse_moe {
namespace {

using namespace device;
using namespace simt;

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kWarpSlots = 128, kChunk = kWarps * kWarpSlots;
constexpr int kScanThreads = 1024;  // one an expert
static_assert(kChunk < 4096, "check_shapes leaves as much room behind the last slot");

// A block owns a chunk of slots and a row of counts [chunks, E].
__global__ void __launch_bounds__(kThreads) count_kernel(AlignParams a, int* counts) {
  int* const histogram = dynamic_shared<int>();  // [E]
  for (int e = threadIdx.x; e < a.E; e += kThreads) histogram[e] = 0;
  __syncthreads();  // zero everywhere
  const int first = blockIdx.x * kChunk, last = min(first + kChunk, a.slots);
  for (int slot = first + threadIdx.x; slot < last; slot += kThreads) {
    const int id = a.ids[slot];
    if (a.is_expert(id)) atomicAdd(&histogram[id], 1);  // whole numbers: any order, one sum
  }
  __syncthreads();  // all have counted
  for (int e = threadIdx.x; e < a.E; e += kThreads) {
    counts[static_cast<std::size_t>(blockIdx.x) * a.E + e] = histogram[e];
  }
}

// Thread e owns column e of counts, which becomes the slots of expert e in earlier chunks.
__global__ void __launch_bounds__(kScanThreads)
    scan_kernel(AlignParams a, int* counts, int chunks) {
  SIMT_SHARED(int, warp_total, [kScanThreads / 32]);
  const int e = threadIdx.x, lane = e % 32, warp = e / 32;
  int total = 0;
  for (int c = 0; c < chunks && e < a.E; ++c) {
    int& count = counts[static_cast<std::size_t>(c) * a.E + e];
    const int mine = count;
    count = total;
    total += mine;
  }
  const int sum = inclusive_sum(total);
  if (lane == 31) warp_total[warp] = sum;
  __syncthreads();  // the warps' totals are there
  const int before = inclusive_sum(lane < warp ? warp_total[lane] : 0);
  const int end = __shfl_sync(kFullMask, before, 31) + sum;
  if (e < a.E) a.offsets[e + 1] = end;
  if (e == 0) a.offsets[0] = 0;
}

// next [kWarps][E]: how many slots of each expert each warp has, then where its next one goes.
__device__ void find_places(const AlignParams& a, const int* counts, int* next) {
  const int first = blockIdx.x * kChunk, warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < kWarps * a.E; i += kThreads) next[i] = 0;
  __syncthreads();  // zero everywhere
  for (int i = threadIdx.x % 32; i < kWarpSlots; i += 32) {
    const int slot = first + warp * kWarpSlots + i, id = slot < a.slots ? a.ids[slot] : -1;
    if (a.is_expert(id)) atomicAdd(&next[warp * a.E + id], 1);
  }
  __syncthreads();  // all have counted
  for (int e = threadIdx.x; e < a.E; e += kThreads) {
    int place = a.offsets[e] + counts[static_cast<std::size_t>(blockIdx.x) * a.E + e];
    for (int w = 0; w < kWarps; ++w) {
      const int mine = next[w * a.E + e];
      next[w * a.E + e] = place;
      place += mine;
    }
  }
  __syncthreads();  // all places are there
}

// A block owns a chunk of slots, a warp 128 neighbours of it.
__global__ void __launch_bounds__(kThreads) place_kernel(AlignParams a, const int* counts) {
  int* const next = dynamic_shared<int>();  // [kWarps][E]
  find_places(a, counts, next);
  const int first = blockIdx.x * kChunk, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int i = lane; i < kWarpSlots; i += 32) {
    const int slot = first + warp * kWarpSlots + i, id = slot < a.slots ? a.ids[slot] : -1;
    const unsigned same = __match_any_sync(kFullMask, id);
    const int rank = __popc(same & ((1u << lane) - 1));
    const bool placed = a.is_expert(id);
    if (placed) a.order[next[warp * a.E + id] + rank] = slot;
    __syncwarp();  // all have read their place before one moves it on
    if (placed && rank == 0) next[warp * a.E + id] += __popc(same);
    __syncwarp();  // the places are the next 32's
  }
  const int last = min(first + kChunk, a.slots);
  for (int i = max(first, a.offsets[a.E]) + threadIdx.x; i < last; i += kThreads) a.order[i] = -1;
}

std::int64_t chunks_of(const AlignArgs& a) { return ceil_div(a.slots(), kChunk); }

std::vector<LaunchConfig> launches(const AlignArgs& a, const Device&) {
  constexpr std::int64_t kInt = sizeof(int);
  const LaunchConfig scan = {.kernel = "scan", .block = {kScanThreads}, .needs_whole_grid = true};
  if (a.slots() == 0) return {scan};
  return {{.kernel = "count",
           .grid = {chunks_of(a)},
           .block = {kThreads},
           .shared_bytes = a.experts() * kInt,
           .needs_whole_grid = true},
          scan,
          {.kernel = "place",
           .grid = {chunks_of(a)},
           .block = {kThreads},
           .shared_bytes = kWarps * a.experts() * kInt,
           .needs_whole_grid = true}};
}

std::int64_t workspace(const AlignArgs& a, const Device&) {
  return Workspace::bytes_for<int>(chunks_of(a) * a.experts());
}

void run(Exec& exec, const AlignArgs& args, const Prepared&) {
  const AlignParams a = params_of(args, kScanThreads);
  const std::int64_t chunks = chunks_of(args);
  const Workspace::Scope scope(exec.workspace);
  int* const counts = exec.workspace.take<int>(chunks * args.experts()).data();
  for (const LaunchConfig& l : launches(args, exec.device)) {
    if (l.kernel == "count") launch(count_kernel, l, exec.stream, a, counts);
    if (l.kernel == "scan")
      launch(scan_kernel, l, exec.stream, a, counts, static_cast<int>(chunks));
    if (l.kernel == "place") launch(place_kernel, l, exec.stream, a, counts);
  }
}

}  // namespace

namespace SIMT_BACKEND {

Version<AlignArgs> align_gpu_v2_chunks() {
  return {.name = "gpu_v2_chunks",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .supports = [](const AlignArgs& a, const Device&) { return a.experts() <= kScanThreads; },
          .workspace = workspace,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::sparse_moe
