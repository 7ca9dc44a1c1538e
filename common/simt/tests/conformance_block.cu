// Kernels of conformance.h: barriers, indices, atomics and shared memory of a block.

#include "common/simt/simt.h"
#include "common/simt/tests/conformance.h"

namespace octavo::simt::conformance {
namespace {

__constant__ int table[4];

__global__ void block_vote_kernel(BlockVote kind, const int* predicate, int* out) {
  const unsigned i = threadIdx.x;
  for (int round = 0; round < 2; ++round) {  // the second must know nothing of the first
    if (kind == BlockVote::kCount) out[i] = __syncthreads_count(predicate[i]);
    if (kind == BlockVote::kOr) out[i] = __syncthreads_or(predicate[i]) != 0;
    if (kind == BlockVote::kAnd) out[i] = __syncthreads_and(predicate[i]) != 0;
  }
}

// Warp 0 writes, warp 1 reads. Barrier 1: the values are there. Barrier 2: they have been read.
__global__ void named_kernel(int rounds, const int* in, int* out) {
  SIMT_SHARED(int, box, [32]);
  const unsigned lane = threadIdx.x % 32;
  for (int r = 0; r < rounds; ++r) {
    if (threadIdx.x < 32) {
      if (r > 0) named_barrier_sync(2, 64);
      box[lane] = in[r * 32 + lane];
      named_barrier_arrive(1, 64);
    } else {
      named_barrier_sync(1, 64);
      out[r * 32 + lane] = box[31 - lane];
      if (r + 1 < rounds) named_barrier_arrive(2, 64);
    }
  }
}

__global__ void indices_kernel(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned* o = out + (block * blockDim.x * blockDim.y * blockDim.z + thread) * 12;
  const unsigned values[12] = {threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x,
                               blockIdx.y,  blockIdx.z,  blockDim.x,  blockDim.y,
                               blockDim.z,  gridDim.x,   gridDim.y,   gridDim.z};
  for (int i = 0; i < 12; ++i) o[i] = values[i];
}

__device__ int apply(Atomic kind, int* cell, int operand) {
  switch (kind) {
    case Atomic::kAdd:
      return atomicAdd(cell, operand);
    case Atomic::kMax:
      return atomicMax(cell, operand);
    case Atomic::kMin:
      return atomicMin(cell, operand);
    case Atomic::kOr:
      return atomicOr(cell, operand);
    case Atomic::kAnd:
      return atomicAnd(cell, operand);
    case Atomic::kExch:
      return atomicExch(cell, operand);
    case Atomic::kCas:
      break;
  }
  for (int seen = atomicAdd(cell, 0);;) {  // an addition made of compare-and-swap
    const int old = atomicCAS(cell, seen, seen + operand);
    if (old == seen) return old;
    seen = old;
  }
}

__global__ void atomic_kernel(Atomic kind, bool shared, int* cell, const int* operand, int* old) {
  SIMT_SHARED(int, local, [1]);
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (!shared) {
    old[i] = apply(kind, cell, operand[i]);
    return;
  }
  if (threadIdx.x == 0) local[0] = *cell;
  __syncthreads();
  old[i] = apply(kind, local, operand[i]);
  __syncthreads();
  if (threadIdx.x == 0) *cell = local[0];
}

__global__ void atomic_float_kernel(bool shared, float* cell, const float* operand, float* old) {
  SIMT_SHARED(float, local, [1]);
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (!shared) {
    old[i] = atomicAdd(cell, operand[i]);
    return;
  }
  if (threadIdx.x == 0) local[0] = *cell;
  __syncthreads();
  old[i] = atomicAdd(local, operand[i]);
  __syncthreads();
  if (threadIdx.x == 0) *cell = local[0];
}

__global__ void last_block_kernel(int* partial, unsigned* arrived, int* sum) {
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = static_cast<int>(blockIdx.x) + 1;
  __threadfence();
  if (atomicAdd(arrived, 1u) != gridDim.x - 1) return;
  __threadfence();
  int total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b];
  *sum = total;
}

__device__ int* second_array() {
  SIMT_SHARED(int, values, [32]);
  return values;
}

__global__ void shared_arrays_kernel(int words, int* out) {
  SIMT_SHARED(int, values, [32]);
  int* other = second_array();
  int* dynamic = dynamic_shared<int>();
  const int i = static_cast<int>(threadIdx.x);
  values[i] = i;
  other[i] = 100 + i;
  for (int w = i; w < words; w += 32) dynamic[w] = 1000 + w;
  __syncthreads();
  bool good = values[31 - i] == 31 - i && other[31 - i] == 131 - i;
  for (int w = 0; w < words; ++w) good = good && dynamic[w] == 1000 + w;
  if (__syncthreads_and(good) && i == 0) out[0] = 1;
}

__global__ void constants_kernel(int* out) { out[threadIdx.x] = table[threadIdx.x]; }

}  // namespace

namespace SIMT_BACKEND {

void block_vote(BlockVote kind, int threads, const int* predicate, int* out) {
  launch(block_vote_kernel, dim3(1), dim3(static_cast<unsigned>(threads)), 0, nullptr, kind,
         predicate, out);
}
void named_barriers(int rounds, const int* in, int* out) {
  launch(named_kernel, dim3(1), dim3(64), 0, nullptr, rounds, in, out);
}
void indices(Extents grid, Extents block, unsigned* out) {
  launch(indices_kernel, dim3(grid.x, grid.y, grid.z), dim3(block.x, block.y, block.z), 0, nullptr,
         out);
}
void atomic(Atomic kind, bool shared, int threads, int* cell, const int* operand, int* old) {
  launch(atomic_kernel, dim3(shared ? 1 : 2), dim3(static_cast<unsigned>(threads)), 0, nullptr,
         kind, shared, cell, operand, old);
}
void atomic_add(bool shared, int threads, float* cell, const float* operand, float* old) {
  launch(atomic_float_kernel, dim3(shared ? 1 : 2), dim3(static_cast<unsigned>(threads)), 0,
         nullptr, shared, cell, operand, old);
}
void last_block(int* partial, unsigned* arrived, int* sum) {
  launch(last_block_kernel, dim3(8), dim3(32), 0, nullptr, partial, arrived, sum);
}
void shared_arrays(int words, int* out) {
  launch(shared_arrays_kernel, dim3(1), dim3(32), static_cast<std::size_t>(words) * 4, nullptr,
         words, out);
}
void constants(const int* values, int* out) {
  const int copy[4] = {values[0], values[1], values[2], values[3]};
  set_constant(table, copy);
  launch(constants_kernel, dim3(1), dim3(4), 0, nullptr, out);
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::simt::conformance
