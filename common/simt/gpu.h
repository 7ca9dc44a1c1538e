#pragma once
// The dialect's half for nvcc: CUDA's names are CUDA's own, the rest are thin wrappers around one
// PTX instruction each. Sections are those of the PTX ISA, chapter "Instruction Set".

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <type_traits>

#include "common/base/error.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "the kernels need sm_80 (mma with bf16, cp.async) or later"
#endif

#define SIMT_UNROLL _Pragma("unroll")
// Aligned for 16-byte accesses, as the executor's are.
#define SIMT_SHARED(T, name, ...) __shared__ __align__(16) T name __VA_ARGS__

namespace octavo::simt {

using bf16 = ::__nv_bfloat16;
using half = ::__half;
using fp8_e4m3 = ::__nv_fp8_e4m3;
using fp8_e5m2 = ::__nv_fp8_e5m2;
using stream_t = ::cudaStream_t;

inline namespace SIMT_FLAVOUR {

inline constexpr std::uint32_t kFullMask = 0xffffffffu;

__device__ __forceinline__ unsigned lane_index() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31u;
}

template <class T>
__device__ __forceinline__ T* dynamic_shared() {
  extern __shared__ __align__(1024) unsigned char simt_dynamic_shared[];
  return reinterpret_cast<T*>(simt_dynamic_shared);
}

__host__ __device__ __forceinline__ float to_float(float x) { return x; }
__host__ __device__ __forceinline__ float to_float(bf16 x) { return __bfloat162float(x); }
__host__ __device__ __forceinline__ float to_float(half x) { return __half2float(x); }
__host__ __device__ __forceinline__ float to_float(fp8_e4m3 x) { return static_cast<float>(x); }
__host__ __device__ __forceinline__ float to_float(fp8_e5m2 x) { return static_cast<float>(x); }

template <class T>
__host__ __device__ __forceinline__ T from_float(float x) {
  if constexpr (std::is_same_v<T, bf16>) {
    return __float2bfloat16_rn(x);
  } else if constexpr (std::is_same_v<T, half>) {
    return __float2half_rn(x);
  } else {
    return static_cast<T>(x);
  }
}
__host__ __device__ __forceinline__ bf16 to_bf16(float x) { return from_float<bf16>(x); }
__host__ __device__ __forceinline__ half to_half(float x) { return from_float<half>(x); }

template <class T>
__device__ __forceinline__ std::uint32_t pack2(T low, T high) {
  static_assert(sizeof(T) == 2);
  std::uint16_t bits[2];
  memcpy(&bits[0], &low, 2);
  memcpy(&bits[1], &high, 2);
  return bits[0] | std::uint32_t{bits[1]} << 16;
}

// ---- vector accesses
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T element[N];
  __device__ T& operator[](int i) { return element[i]; }
  __device__ const T& operator[](int i) const { return element[i]; }
};
template <int Bytes>
using Word =
    std::conditional_t<Bytes == 16, uint4, std::conditional_t<Bytes == 8, uint2, unsigned>>;

template <int N, class T>
__device__ __forceinline__ Pack<std::remove_const_t<T>, N> load_pack(const T* p) {
  using Result = Pack<std::remove_const_t<T>, N>;
  static_assert(sizeof(Result) == 4 || sizeof(Result) == 8 || sizeof(Result) == 16);
  const auto word = *reinterpret_cast<const Word<sizeof(Result)>*>(p);
  Result result;
  memcpy(static_cast<void*>(&result), &word, sizeof(Result));
  return result;
}
template <class T, int N>
__device__ __forceinline__ void store_pack(T* p, const Pack<T, N>& value) {
  static_assert(sizeof(value) == 4 || sizeof(value) == 8 || sizeof(value) == 16);
  Word<sizeof(value)> word;
  memcpy(&word, &value, sizeof(value));
  *reinterpret_cast<Word<sizeof(value)>*>(p) = word;
}
template <class T>
__device__ __forceinline__ auto load16(const T* p) {
  return load_pack<16 / static_cast<int>(sizeof(T))>(p);
}
template <class T, int N>
__device__ __forceinline__ void store16(T* p, const Pack<T, N>& value) {
  static_assert(sizeof(value) == 16);
  store_pack(p, value);
}

// ---- "mma": .m16n8k16, A row-major, B column-major, float accumulators
#define SIMT_MMA(NAME, TYPE)                                                                    \
  __device__ __forceinline__ void NAME(float(&d)[4], const std::uint32_t(&a)[4],                \
                                       const std::uint32_t(&b)[2], const float(&c)[4]) {        \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE                         \
                 ".f32 "                                                                        \
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};\n"                  \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                               \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), \
                   "f"(c[1]), "f"(c[2]), "f"(c[3]));                                            \
  }
SIMT_MMA(mma_m16n8k16_bf16, "bf16")
SIMT_MMA(mma_m16n8k16_f16, "f16")
#undef SIMT_MMA

__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

// ---- "ldmatrix": 8 x 8 matrices of 16-bit elements
#define SIMT_LDMATRIX1(NAME, TRANS)                                                \
  __device__ __forceinline__ void NAME(std::uint32_t(&r)[1], const void* row) {    \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1" TRANS ".shared.b16 {%0}, [%1];\n" \
                 : "=r"(r[0])                                                      \
                 : "r"(shared_address(row))                                        \
                 : "memory");                                                      \
  }
#define SIMT_LDMATRIX2(NAME, TRANS)                                                   \
  __device__ __forceinline__ void NAME(std::uint32_t(&r)[2], const void* row) {       \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" TRANS ".shared.b16 {%0,%1}, [%2];\n" \
                 : "=r"(r[0]), "=r"(r[1])                                             \
                 : "r"(shared_address(row))                                           \
                 : "memory");                                                         \
  }
#define SIMT_LDMATRIX4(NAME, TRANS)                                                         \
  __device__ __forceinline__ void NAME(std::uint32_t(&r)[4], const void* row) {             \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" TRANS ".shared.b16 {%0,%1,%2,%3}, [%4];\n" \
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                           \
                 : "r"(shared_address(row))                                                 \
                 : "memory");                                                               \
  }
SIMT_LDMATRIX1(ldmatrix_x1, "")
SIMT_LDMATRIX2(ldmatrix_x2, "")
SIMT_LDMATRIX4(ldmatrix_x4, "")
SIMT_LDMATRIX1(ldmatrix_x1_trans, ".trans")
SIMT_LDMATRIX2(ldmatrix_x2_trans, ".trans")
SIMT_LDMATRIX4(ldmatrix_x4_trans, ".trans")
#undef SIMT_LDMATRIX1
#undef SIMT_LDMATRIX2
#undef SIMT_LDMATRIX4

// ---- "cp.async", "cp.async.commit_group", "cp.async.wait_group": 16 bytes, past L1, zero-filled
__device__ __forceinline__ void cp_async16(void* to, const void* from, int bytes = 16) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared_address(to)),
               "l"(from), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void cp_async_commit() {
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}
template <int Groups>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(Groups) : "memory");
}

// ---- "bar.sync", "bar.arrive"
__device__ __forceinline__ void named_barrier_sync(int id, int count) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(id), "r"(count) : "memory");
}
__device__ __forceinline__ void named_barrier_arrive(int id, int count) {
  asm volatile("bar.arrive %0, %1;\n" ::"r"(id), "r"(count) : "memory");
}

// ---- host: asynchronous launch on `stream`. Throws Error when the launch is refused.
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes, stream_t stream,
            A&&... arguments) {
  constexpr std::size_t kDefaultLimit = 48 * 1024;
  if (shared_bytes > kDefaultLimit) {
    const cudaError_t status = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
    require(status == cudaSuccess, "{} bytes of dynamic shared memory: {}", shared_bytes,
            cudaGetErrorString(status));
  }
  kernel<<<grid, block, shared_bytes, stream>>>(static_cast<P>(arguments)...);
  const cudaError_t status = cudaGetLastError();
  require(status == cudaSuccess, "a kernel could not be launched: {}", cudaGetErrorString(status));
}

// Sets a __constant__ variable from host memory.
template <class T>
void set_constant(T& symbol, const std::type_identity_t<T>& value) {
  const cudaError_t status = cudaMemcpyToSymbol(symbol, &value, sizeof(T));
  require(status == cudaSuccess, "a __constant__ variable could not be set: {}",
          cudaGetErrorString(status));
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::simt
