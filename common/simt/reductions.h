#pragma once
// Tiles of a warp and reductions over a tile, a warp and a block; the same code for both backends.
// Included by simt.h.

namespace octavo::simt {
inline namespace SIMT_FLAVOUR {

// Calls pass the user's line on, so that messages name it. A GPU has nothing to pass.
#if SIMT_GPU
#define SIMT_AND_SITE
#define SIMT_ONLY_SITE
#define SIMT_PASS_SITE
#define SIMT_PASS_ONLY_SITE
#else
#define SIMT_AND_SITE , SIMT_SITE
#define SIMT_ONLY_SITE SIMT_SITE
#define SIMT_PASS_SITE , site
#define SIMT_PASS_ONLY_SITE site
#endif

struct Add {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Max {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

// N neighbouring lanes of a warp, N a power of two. All lanes of a tile call its operations
// together.
template <int N>
struct WarpTile {
  static_assert(N >= 1 && N <= 32 && (N & (N - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 lanes");

  __device__ static constexpr int size() { return N; }
  __device__ int rank() const { return static_cast<int>(lane_index()) & (N - 1); }
  __device__ int first_lane() const { return static_cast<int>(lane_index()) & ~(N - 1); }
  __device__ std::uint32_t mask() const {
    return N == 32 ? 0xffffffffu : ((1u << N % 32) - 1u) << first_lane();
  }
  __device__ void sync(SIMT_ONLY_SITE) const { __syncwarp(mask() SIMT_PASS_SITE); }
  template <class T>
  __device__ T shuffle(T value, int rank SIMT_AND_SITE) const {
    return __shfl_sync(mask(), value, rank, N SIMT_PASS_SITE);
  }
  template <class T>
  __device__ T shuffle_xor(T value, int bits SIMT_AND_SITE) const {
    return __shfl_xor_sync(mask(), value, bits, N SIMT_PASS_SITE);
  }
  template <class T>
  __device__ T shuffle_up(T value, unsigned delta SIMT_AND_SITE) const {
    return __shfl_up_sync(mask(), value, delta, N SIMT_PASS_SITE);
  }
  template <class T>
  __device__ T shuffle_down(T value, unsigned delta SIMT_AND_SITE) const {
    return __shfl_down_sync(mask(), value, delta, N SIMT_PASS_SITE);
  }
  // Bit r is the predicate of the lane of rank r.
  __device__ std::uint32_t ballot(bool predicate SIMT_AND_SITE) const {
    return (__ballot_sync(mask(), predicate SIMT_PASS_SITE) & mask()) >> first_lane();
  }
  __device__ bool any(bool predicate SIMT_AND_SITE) const {
    return __any_sync(mask(), predicate SIMT_PASS_SITE);
  }
  __device__ bool all(bool predicate SIMT_AND_SITE) const {
    return __all_sync(mask(), predicate SIMT_PASS_SITE);
  }
  // op over the tile, the same in every lane: a butterfly, so the order does not depend on the lane
  // for a commutative op.
  template <class T, class Op>
  __device__ T reduce(T value, Op op SIMT_AND_SITE) const {
    for (int bits = N / 2; bits > 0; bits /= 2) {
      value = op(value, shuffle_xor(value, bits SIMT_PASS_SITE));
    }
    return value;
  }
};

template <class T>
__device__ T warp_sum(T value SIMT_AND_SITE) {
  return WarpTile<32>().reduce(value, Add() SIMT_PASS_SITE);
}
template <class T>
__device__ T warp_max(T value SIMT_AND_SITE) {
  return WarpTile<32>().reduce(value, Max() SIMT_PASS_SITE);
}

// op over the whole block of Threads threads, the same in every thread. `partial` is shared memory
// for a value of each warp; it may be used again after this returns.
template <int Threads, class T, class Op>
__device__ T block_reduce(T value, Op op, T (&partial)[Threads / 32] SIMT_AND_SITE) {
  static_assert(Threads % 32 == 0 && Threads <= 1024);
  constexpr int kWarps = Threads / 32;
  value = WarpTile<32>().reduce(value, op SIMT_PASS_SITE);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads(SIMT_PASS_ONLY_SITE);
  value = partial[0];
  for (int w = 1; w < kWarps; ++w) value = op(value, partial[w]);
  __syncthreads(SIMT_PASS_ONLY_SITE);  // before the next call writes `partial`
  return value;
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::simt
