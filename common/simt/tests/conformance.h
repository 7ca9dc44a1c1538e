#pragma once
// One small kernel for each operation of the dialect. Pointers are to memory of the backend; "one
// warp" means that lanes outside `mask` skip the operation and leave their output alone.

#include <cstdint>

namespace octavo::simt::conformance {

enum class Shuffle { kIndex, kUp, kDown, kXor };
enum class Vote { kBallot, kAny, kAll };
enum class BlockVote { kCount, kOr, kAnd };
enum class Reduce { kAdd, kMax, kMin };
enum class Atomic { kAdd, kMax, kMin, kOr, kAnd, kExch, kCas };
enum class Bits {
  kPopc,
  kFfs,
  kClz,
  kBrev,
  kFloatToInt,
  kDp4a,
  kMin,
  kMax,
  kMinUnsigned,
  kMaxUnsigned
};
enum class Wide { kPopc, kMin, kMax };
enum class Exact { kFma, kAdd, kMul, kReciprocal, kMin, kMax };
enum class Approximate { kRsqrt, kExp, kLog, kLog2, kSin, kCos, kDivide };
enum class Number { kBf16, kHalf, kE4m3, kE5m2 };

struct Extents {
  unsigned x, y, z;
};

#define SIMT_CONFORMANCE(BACKEND)                                                                  \
  namespace BACKEND {                                                                              \
  /* One warp: out[l] = shuffle of in by operand[l]. */                                            \
  void shuffle(Shuffle kind, std::uint32_t mask, int width, const int* operand,                    \
               const std::uint32_t* in, std::uint32_t* out);                                       \
  void shuffle(Shuffle kind, std::uint32_t mask, int width, const int* operand, const double* in,  \
               double* out);                                                                       \
  void vote(Vote kind, std::uint32_t mask, const int* predicate, std::uint32_t* out);              \
  void reduce(Reduce kind, std::uint32_t mask, const int* in, int* out);                           \
  void reduce(Reduce kind, std::uint32_t mask, const unsigned* in, unsigned* out);                 \
  void match(std::uint32_t mask, const std::uint32_t* in, std::uint32_t* out);                     \
  void match(std::uint32_t mask, const unsigned long long* in, std::uint32_t* out);                \
  /* One warp reverses `in` through shared memory with __syncwarp. */                              \
  void reverse(const int* in, int* out);                                                           \
  /* Tiles of n lanes: sum and maximum of each tile, rank, ballot of odd values. out [32, 4]. */   \
  void tiles(int n, const int* in, int* out);                                                      \
  /* One block of `threads`: block_reduce of a sum and a maximum, twice on one array; out[0],      \
   * out[1]. */                                                                                    \
  void block_reduction(const int* in, int* out);                                                   \
  void block_vote(BlockVote kind, int threads, const int* predicate, int* out);                    \
  /* Two warps hand `rounds` values of 32 lanes over by two named barriers; out [rounds, 32]. */   \
  void named_barriers(int rounds, const int* in, int* out);                                        \
  /* One block: threadIdx, blockIdx, blockDim, gridDim of each thread, [grid * block, 12]. */      \
  void indices(Extents grid, Extents block, unsigned* out);                                        \
  /* One warp: registers of all lanes, a [32, 4], b [32, 2], c and d [32, 4]. */                   \
  void mma(Number type, const std::uint32_t* a, const std::uint32_t* b, const float* c, float* d); \
  /* Matrices [count, 8, 8] through shared memory to registers [32, count]. */                     \
  void ldmatrix(int count, bool transposed, const std::uint16_t* matrices, std::uint32_t* out);    \
  /* Lane l copies bytes[l] of the 16 at in + 16 l; the rest of the 16 must become zero. out       \
   * [512]. */                                                                                     \
  void cp_async(const int* bytes, const unsigned char* in, unsigned char* out);                    \
  /* Three groups of 512 bytes; after wait<1> the first two are read, after wait<0> the third. */  \
  void cp_async_groups(const unsigned char* in, unsigned char* out);                               \
  /* `threads` threads of each of two blocks: old[i] = atomic(cell, operand[i]); in shared memory  \
   * one block. */                                                                                 \
  void atomic(Atomic kind, bool shared, int threads, int* cell, const int* operand, int* old);     \
  void atomic_add(bool shared, int threads, float* cell, const float* operand, float* old);        \
  /* The last of 8 blocks to arrive sums what all wrote before their __threadfence: sum[0]. */     \
  void last_block(int* partial, unsigned* arrived, int* sum);                                      \
  /* Copies n bytes in loads and stores of `width` = 4, 8 or 16, as elements of 2 or 4 bytes. */   \
  void packs(int width, int element, int n, const void* in, void* out);                            \
  void bits(Bits kind, int n, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out); \
  void wide(Wide kind, int n, const long long* a, const long long* b, long long* out);             \
  void exact(Exact kind, int n, const float* a, const float* b, const float* c, float* out);       \
  void approximate(Approximate kind, int n, const float* a, const float* b, float* out);           \
  /* encoded[i] = number nearest to in[i], decoded[i] = its value. */                              \
  void convert(Number type, int n, const float* in, std::uint32_t* encoded, float* decoded);       \
  void decode(Number type, int n, const std::uint32_t* in, float* out);                            \
  /* Two static arrays and `words` of dynamic shared memory keep their own contents; out[0] = 1.   \
   */                                                                                              \
  void shared_arrays(int words, int* out);                                                         \
  void constants(const int* values, int* out); /* 4 values through __constant__ memory */          \
  }
SIMT_CONFORMANCE(on_simt)
SIMT_CONFORMANCE(on_cuda)
#undef SIMT_CONFORMANCE

}  // namespace octavo::simt::conformance
