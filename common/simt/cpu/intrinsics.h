#pragma once
// CUDA's arithmetic and bit intrinsics. The approximate ones (__expf and its kin) are exact here;
// compare GPU results with the tolerance their CUDA documentation gives.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "common/simt/backend.h"

namespace octavo::simt {
inline namespace SIMT_FLAVOUR {

inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float fast_exp(float x) { return std::exp(x); }
inline float fast_log(float x) { return std::log(x); }
inline float fast_log2(float x) { return std::log2(x); }
inline float fast_sin(float x) { return std::sin(x); }
inline float fast_cos(float x) { return std::cos(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline int __float2int_rn(float x) { return static_cast<int>(std::nearbyint(x)); }

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }  // 1 + index of the lowest set bit; 0 for 0
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1u) << (31 - i);
  return reversed;
}

// The sum of c and four products of signed bytes.
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) {
    c += static_cast<std::int8_t>(a >> (8 * i)) * static_cast<std::int8_t>(b >> (8 * i));
  }
  return c;
}

inline int min(int a, int b) { return b < a ? b : a; }
inline int max(int a, int b) { return a < b ? b : a; }
inline unsigned min(unsigned a, unsigned b) { return b < a ? b : a; }
inline unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }
inline long long min(long long a, long long b) { return b < a ? b : a; }
inline long long max(long long a, long long b) { return a < b ? b : a; }
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::simt

using octavo::simt::__brev;
using octavo::simt::__clz;
using octavo::simt::__dp4a;
using octavo::simt::__fadd_rn;
using octavo::simt::__fdividef;
using octavo::simt::__ffs;
using octavo::simt::__float2int_rn;
using octavo::simt::__float_as_int;
using octavo::simt::__float_as_uint;
using octavo::simt::__fmaf_rn;
using octavo::simt::__fmul_rn;
using octavo::simt::__frcp_rn;
using octavo::simt::__int_as_float;
using octavo::simt::__popc;
using octavo::simt::__popcll;
using octavo::simt::__uint_as_float;
using octavo::simt::max;
using octavo::simt::min;
using octavo::simt::rsqrtf;

// glibc declares functions of these names for itself.
#define __expf(x) (::octavo::simt::fast_exp(x))
#define __logf(x) (::octavo::simt::fast_log(x))
#define __log2f(x) (::octavo::simt::fast_log2(x))
#define __sinf(x) (::octavo::simt::fast_sin(x))
#define __cosf(x) (::octavo::simt::fast_cos(x))
