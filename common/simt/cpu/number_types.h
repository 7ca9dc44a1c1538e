#pragma once
// CUDA's number and vector types. With the toolkit's headers at hand these are CUDA's own (types
// and conversions only: arithmetic happens in float); without, types of the same names and the same
// bits.

#include <cstdint>
#include <cstring>

#include "common/simt/backend.h"

#if __has_include(<cuda_bf16.h>) && !defined(OCTAVO_SIMT_NO_CUDA_HEADERS)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <vector_functions.h>
#else
#include "common/simt/cpu/number_types_fallback.h"
#endif

#include "common/simt/cpu/keywords.h"

struct CUstream_st;  // what a cudaStream_t points to

namespace octavo::simt {

using bf16 = ::__nv_bfloat16;
using half = ::__half;
using fp8_e4m3 = ::__nv_fp8_e4m3;
using fp8_e5m2 = ::__nv_fp8_e5m2;
using stream_t = ::CUstream_st*;

inline namespace SIMT_FLAVOUR {

inline float to_float(float x) { return x; }
inline float to_float(bf16 x) { return ::__bfloat162float(x); }
inline float to_float(half x) { return ::__half2float(x); }
inline float to_float(fp8_e4m3 x) { return static_cast<float>(x); }
inline float to_float(fp8_e5m2 x) { return static_cast<float>(x); }

// Rounds to nearest, ties to even; the 8-bit types saturate.
template <class T>
T from_float(float x) {
  return static_cast<T>(x);
}
template <>
inline bf16 from_float<bf16>(float x) {
  return ::__float2bfloat16_rn(x);
}
template <>
inline half from_float<half>(float x) {
  return ::__float2half_rn(x);
}
inline bf16 to_bf16(float x) { return from_float<bf16>(x); }
inline half to_half(float x) { return from_float<half>(x); }

// Two 16-bit numbers in one register, `low` in the lower half: the order of mma's fragments.
template <class T>
std::uint32_t pack2(T low, T high) {
  static_assert(sizeof(T) == 2);
  std::uint16_t bits[2];
  std::memcpy(&bits[0], &low, 2);
  std::memcpy(&bits[1], &high, 2);
  return bits[0] | std::uint32_t{bits[1]} << 16;
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::simt
