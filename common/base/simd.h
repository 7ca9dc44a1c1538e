#pragma once
// Vectors of floats for the micro-kernels of the host, one struct of static functions for each
// instruction set that the build may use; simd::Native is the widest. A micro-kernel is a template
// over such a struct. Multiply-adds are fused in all of them, so that a sum in one order has one
// result, whatever the width.
//
// Pair: 2 kLanes consecutive outputs. In 16 bits they lie interleaved, as lane_of_pair says: then
// one load, a shift and a mask unpack them.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "common/base/numbers.h"

#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace octavo::simd {

// Asks for the cache line at p, as long as it takes; p need not be readable.
inline void prefetch(const void* p) { __builtin_prefetch(p); }

// Where output `i` of a Pair lies among its 2 * lanes elements of type W.
template <class W>
constexpr int lane_of_pair(int i, int lanes) {
  if constexpr (sizeof(W) == 4) return i;
  return i < lanes ? 2 * i : 2 * (i - lanes) + 1;
}

struct Portable {
  static constexpr std::string_view kName = "portable";
  static constexpr int kLanes = 4;
  static constexpr int kRows = 4;  // of a tile whose sums fit in the registers
  struct Vec {
    float lane[kLanes];
  };
  struct Pair {
    Vec low, high;
  };

  static Vec broadcast(float v) { return {{v, v, v, v}}; }
  static Vec load(const float* p) {
    Vec v;
    std::memcpy(&v, p, sizeof(v));
    return v;
  }
  static void store(float* p, const Vec& v) { std::memcpy(p, &v, sizeof(v)); }
  static Vec add(Vec a, const Vec& b) {
    for (int i = 0; i < kLanes; ++i) a.lane[i] += b.lane[i];
    return a;
  }
  // a b + c, rounded once.
  static Vec fma(const Vec& a, const Vec& b, Vec c) {
    for (int i = 0; i < kLanes; ++i) c.lane[i] = std::fma(a.lane[i], b.lane[i], c.lane[i]);
    return c;
  }
  static Pair load_pair(const float* p) { return {load(p), load(p + kLanes)}; }
  static Pair load_pair(const bf16* p) {
    Pair w;
    for (int i = 0; i < kLanes; ++i) {
      w.low.lane[i] = static_cast<float>(p[2 * i]);
      w.high.lane[i] = static_cast<float>(p[2 * i + 1]);
    }
    return w;
  }
};

#if defined(__AVX2__) && defined(__FMA__)
struct Avx2 {
  static constexpr std::string_view kName = "avx2";
  static constexpr int kLanes = 8;
  static constexpr int kRows = 6;  // 12 sums, a Pair and a broadcast in 16 registers
  using Vec = __m256;
  struct Pair {
    Vec low, high;
  };

  static Vec broadcast(float v) { return _mm256_set1_ps(v); }
  static Vec load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
  static Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
  static Pair load_pair(const float* p) { return {load(p), load(p + kLanes)}; }
  static Pair load_pair(const bf16* p) {
    const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(both, 16)),
            _mm256_castsi256_ps(_mm256_and_si256(both, upper))};
  }
};
#endif

#if defined(__AVX512F__)
struct Avx512 {
  static constexpr std::string_view kName = "avx512";
  static constexpr int kLanes = 16;
  static constexpr int kRows = 12;  // 24 sums in 32 registers
  using Vec = __m512;
  struct Pair {
    Vec low, high;
  };

  static Vec broadcast(float v) { return _mm512_set1_ps(v); }
  static Vec load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
  static Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
  static Pair load_pair(const float* p) { return {load(p), load(p + kLanes)}; }
  static Pair load_pair(const bf16* p) {
    const __m512i both = _mm512_loadu_si512(p);
    const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    // The masked form with all lanes on: of the plain one g++ 12 believes that it reads a variable
    // without a value.
    return {_mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, both, 16)),
            _mm512_castsi512_ps(_mm512_and_si512(both, upper))};
  }
};
using Native = Avx512;
#elif defined(__AVX2__) && defined(__FMA__)
using Native = Avx2;
#else
using Native = Portable;
#endif

}  // namespace octavo::simd
