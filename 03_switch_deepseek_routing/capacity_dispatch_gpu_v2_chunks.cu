// ids and weights [T, k], capacity C -> place and kept weight [T, k], load [E].
//
// Idea: many blocks, and still one order. Each block counts a chunk of 1024 slots by expert; a
// thread an expert then adds up the chunks' counts, so that every chunk knows how many slots before
// it want each expert; last, each block places its chunk from there on as v1 places everything.
//
// What it should improve: the time of a large batch, by as many blocks as there are chunks. What
// limits it: three launches, and slots are read twice; v1 is ahead for a few thousand slots. The
// second launch walks over the chunks one after the other.
//
// Grid: a block of 256 threads a chunk; a thread an expert; a block a chunk again. FLOPs: none.
// Bytes: 12 T k read, 8 T k + 4 E written, 16 E a chunk for the counts.

#include "03_switch_deepseek_routing/capacity_dispatch_params.h"
#include "03_switch_deepseek_routing/gpu_versions.h"
#include "common/simt/launch.h"

namespace octavo::switch_routing {
namespace {

using namespace device;

constexpr int kChunk = 4 * kDispatchThreads;

// counts [chunks, E]: slots of each chunk by expert. Whole numbers add up to the same in any order,
// so that atomics do no harm here.
__global__ void __launch_bounds__(kDispatchThreads) count_kernel(DispatchParams a, int* counts) {
  int* const count = dynamic_shared<int>();  // [E]
  for (int e = threadIdx.x; e < a.E; e += kDispatchThreads) count[e] = 0;
  __syncthreads();  // counters are 0
  const int begin = blockIdx.x * kChunk, end = min(begin + kChunk, a.T * a.k);
  for (int n = begin + threadIdx.x; n < end; n += kDispatchThreads) {
    const int e = a.ids[slot_at(n, a.T, a.k)];
    if (a.is_expert(e)) atomicAdd(&count[e], 1);
  }
  __syncthreads();  // all slots are counted
  counts += static_cast<std::size_t>(blockIdx.x) * a.E;
  for (int e = threadIdx.x; e < a.E; e += kDispatchThreads) counts[e] = count[e];
}

// Turns counts into the number of slots in the chunks before. A thread owns an expert.
__global__ void __launch_bounds__(kDispatchThreads)
    offsets_kernel(DispatchParams a, int* counts, int chunks) {
  const int e = blockIdx.x * kDispatchThreads + threadIdx.x;
  if (e >= a.E) return;
  int sum = 0;
  for (int c = 0; c < chunks; ++c) {
    int& count = counts[static_cast<std::size_t>(c) * a.E + e];
    const int here = count;
    count = sum;
    sum += here;
  }
  a.load[e] = sum;
}

// A block owns a chunk, a thread a slot of each quarter of it.
__global__ void __launch_bounds__(kDispatchThreads)
    place_kernel(DispatchParams a, const int* offsets) {
  int* const seen = dynamic_shared<int>();
  int* const warps = seen + a.E;
  offsets += static_cast<std::size_t>(blockIdx.x) * a.E;
  for (int e = threadIdx.x; e < a.E; e += kDispatchThreads) seen[e] = offsets[e];
  const int begin = blockIdx.x * kChunk, end = min(begin + kChunk, a.T * a.k);
  for (int n = begin; n < end; n += kDispatchThreads) place_chunk(a, n, end, seen, warps);
}

std::int64_t chunks_of(const CapacityDispatchArgs& a) { return ceil_div(a.slots(), kChunk); }

bool supports(const CapacityDispatchArgs& a, const Device&) {
  return a.experts() <= kMostDispatchExperts;
}

std::int64_t workspace(const CapacityDispatchArgs& a, const Device&) {
  return Workspace::bytes_for<int>(chunks_of(a) * a.experts());
}

std::vector<LaunchConfig> launches(const CapacityDispatchArgs& a, const Device&) {
  const std::int64_t chunks = chunks_of(a), E = a.experts();
  const LaunchConfig count{
      .kernel = "count", .grid = {chunks}, .block = {kDispatchThreads}, .shared_bytes = 4 * E},
      offsets{.kernel = "offsets",
              .grid = {ceil_div(E, kDispatchThreads)},
              .block = {kDispatchThreads}},
      places{.kernel = "place",
             .grid = {chunks},
             .block = {kDispatchThreads},
             .shared_bytes = 4 * dispatch_counters(E)};
  if (chunks == 0) return {offsets};
  return {count, offsets, places};
}

void run(Exec& exec, const CapacityDispatchArgs& a, const Prepared&) {
  const DispatchParams p = params_of(a);
  const Workspace::Scope scope(exec.workspace);
  const auto chunks = static_cast<int>(chunks_of(a));
  int* const counts = exec.workspace.take<int>(chunks * a.experts()).data();
  for (const LaunchConfig& l : launches(a, exec.device)) {
    if (l.kernel == "count") launch(count_kernel, l, exec.stream, p, counts);
    if (l.kernel == "offsets") launch(offsets_kernel, l, exec.stream, p, counts, chunks);
    if (l.kernel == "place") launch(place_kernel, l, exec.stream, p, counts);
  }
}

}  // namespace

namespace SIMT_BACKEND {

Version<CapacityDispatchArgs> capacity_dispatch_gpu_v2_chunks() {
  return {.name = "gpu_v2_chunks",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = false,  // a capacity is shared by the whole batch
          .supports = supports,
          .workspace = workspace,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::switch_routing
