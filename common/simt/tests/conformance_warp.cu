// Kernels of conformance.h: operations among the lanes of a warp.

#include "common/simt/simt.h"
#include "common/simt/tests/conformance.h"

namespace octavo::simt::conformance {
namespace {

__device__ bool is_in(std::uint32_t mask) { return mask >> (threadIdx.x % 32) & 1; }

template <class T>
__global__ void shuffle_kernel(Shuffle kind, std::uint32_t mask, int width, const int* operand,
                               const T* in, T* out) {
  const unsigned lane = threadIdx.x;
  if (!is_in(mask)) return;
  const int o = operand[lane];
  switch (kind) {
    case Shuffle::kIndex:
      out[lane] = __shfl_sync(mask, in[lane], o, width);
      break;
    case Shuffle::kUp:
      out[lane] = __shfl_up_sync(mask, in[lane], static_cast<unsigned>(o), width);
      break;
    case Shuffle::kDown:
      out[lane] = __shfl_down_sync(mask, in[lane], static_cast<unsigned>(o), width);
      break;
    case Shuffle::kXor:
      out[lane] = __shfl_xor_sync(mask, in[lane], o, width);
      break;
  }
}

__global__ void vote_kernel(Vote kind, std::uint32_t mask, const int* predicate,
                            std::uint32_t* out) {
  const unsigned lane = threadIdx.x;
  if (!is_in(mask)) return;
  if (kind == Vote::kBallot) out[lane] = __ballot_sync(mask, predicate[lane]);
  if (kind == Vote::kAny) out[lane] = __any_sync(mask, predicate[lane]) != 0;
  if (kind == Vote::kAll) out[lane] = __all_sync(mask, predicate[lane]) != 0;
}

template <class T>
__global__ void reduce_kernel(Reduce kind, std::uint32_t mask, const T* in, T* out) {
  const unsigned lane = threadIdx.x;
  if (!is_in(mask)) return;
  if (kind == Reduce::kAdd) out[lane] = __reduce_add_sync(mask, in[lane]);
  if (kind == Reduce::kMax) out[lane] = __reduce_max_sync(mask, in[lane]);
  if (kind == Reduce::kMin) out[lane] = __reduce_min_sync(mask, in[lane]);
}

template <class T>
__global__ void match_kernel(std::uint32_t mask, const T* in, std::uint32_t* out) {
  const unsigned lane = threadIdx.x;
  if (is_in(mask)) out[lane] = __match_any_sync(mask, in[lane]);
}

__global__ void reverse_kernel(const int* in, int* out) {
  SIMT_SHARED(int, s, [32]);
  const unsigned lane = threadIdx.x;
  s[lane] = in[lane];
  __syncwarp();
  out[lane] = s[31 - lane];
}

template <int N>
__global__ void tile_kernel(const int* in, int* out) {
  const WarpTile<N> tile;
  const int value = in[threadIdx.x];
  int* o = out + threadIdx.x * 4;
  o[0] = tile.reduce(value, Add());
  o[1] = tile.reduce(value, Max());
  o[2] = tile.rank() + (tile.any(value == 7) ? 100 : 0) + (tile.all(value != 7) ? 1000 : 0);
  o[3] = static_cast<int>(tile.ballot(value % 2 != 0));
}

__global__ void __launch_bounds__(96) block_reduction_kernel(const int* in, int* out) {
  SIMT_SHARED(int, partial, [3]);
  const int sum = block_reduce<96>(in[threadIdx.x], Add(), partial);
  const int largest = block_reduce<96>(in[threadIdx.x], Max(), partial);
  out[threadIdx.x * 2] = sum;
  out[threadIdx.x * 2 + 1] = largest;
}

}  // namespace

namespace SIMT_BACKEND {

void shuffle(Shuffle kind, std::uint32_t mask, int width, const int* operand,
             const std::uint32_t* in, std::uint32_t* out) {
  launch(shuffle_kernel<std::uint32_t>, dim3(1), dim3(32), 0, nullptr, kind, mask, width, operand,
         in, out);
}
void shuffle(Shuffle kind, std::uint32_t mask, int width, const int* operand, const double* in,
             double* out) {
  launch(shuffle_kernel<double>, dim3(1), dim3(32), 0, nullptr, kind, mask, width, operand, in,
         out);
}
void vote(Vote kind, std::uint32_t mask, const int* predicate, std::uint32_t* out) {
  launch(vote_kernel, dim3(1), dim3(32), 0, nullptr, kind, mask, predicate, out);
}
void reduce(Reduce kind, std::uint32_t mask, const int* in, int* out) {
  launch(reduce_kernel<int>, dim3(1), dim3(32), 0, nullptr, kind, mask, in, out);
}
void reduce(Reduce kind, std::uint32_t mask, const unsigned* in, unsigned* out) {
  launch(reduce_kernel<unsigned>, dim3(1), dim3(32), 0, nullptr, kind, mask, in, out);
}
void match(std::uint32_t mask, const std::uint32_t* in, std::uint32_t* out) {
  launch(match_kernel<std::uint32_t>, dim3(1), dim3(32), 0, nullptr, mask, in, out);
}
void match(std::uint32_t mask, const unsigned long long* in, std::uint32_t* out) {
  launch(match_kernel<unsigned long long>, dim3(1), dim3(32), 0, nullptr, mask, in, out);
}
void reverse(const int* in, int* out) {
  launch(reverse_kernel, dim3(1), dim3(32), 0, nullptr, in, out);
}

void tiles(int n, const int* in, int* out) {
  const auto kernel = n == 1    ? tile_kernel<1>
                      : n == 2  ? tile_kernel<2>
                      : n == 4  ? tile_kernel<4>
                      : n == 8  ? tile_kernel<8>
                      : n == 16 ? tile_kernel<16>
                                : tile_kernel<32>;
  launch(kernel, dim3(1), dim3(32), 0, nullptr, in, out);
}
void block_reduction(const int* in, int* out) {
  launch(block_reduction_kernel, dim3(1), dim3(96), 0, nullptr, in, out);
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::simt::conformance
