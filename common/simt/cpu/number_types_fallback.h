#pragma once
// The types of cuda_bf16.h, cuda_fp16.h, cuda_fp8.h and vector_types.h that kernels use, for a
// machine without the CUDA toolkit. A test compares them with CUDA's, every bit pattern, where both
// are there; it includes this file inside a namespace, hence no includes and no CUDA namespace
// here.

#if !defined(OCTAVO_SIMT_FALLBACK_NESTED)
struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
#endif

namespace simt_bits {

inline std::uint32_t of(float f) { return __builtin_bit_cast(std::uint32_t, f); }
inline float to(std::uint32_t u) { return __builtin_bit_cast(float, u); }
inline bool is_nan(float f) { return (of(f) & 0x7fffffffu) > 0x7f800000u; }

// |f| rounded to nearest, ties to even, to a number of `mantissa` bits with this exponent bias:
// exponent and mantissa fields in one integer. An exponent that does not fit, infinity's too, runs
// on upwards; f is a number.
inline std::uint32_t encode(float f, int mantissa, int bias) {
  const std::uint32_t magnitude = of(f) & 0x7fffffffu;
  int exponent = static_cast<int>(magnitude >> 23) - 127, drop = 23 - mantissa;
  std::uint64_t digits = magnitude & 0x7fffffu;
  if (magnitude >> 23 == 0) {
    exponent = -126;
  } else {
    digits |= 0x800000u;
  }
  if (exponent + bias < 1) {  // subnormal: fewer digits, the exponent field is 0
    drop += 1 - (exponent + bias);
    exponent = 1 - bias;
  }
  if (drop > 62) return 0;
  std::uint64_t kept = digits >> drop;
  const std::uint64_t rest = digits & ((std::uint64_t{1} << drop) - 1);
  const std::uint64_t middle = std::uint64_t{1} << (drop - 1);
  if (rest > middle || (rest == middle && (kept & 1))) ++kept;
  // The hidden bit of `kept` adds the one that the exponent field still lacks.
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(exponent + bias - 1) << mantissa) +
                                    kept);
}

inline float decode(std::uint32_t magnitude, int mantissa, int bias) {
  const int field = static_cast<int>(magnitude >> mantissa);
  const float digits =
      static_cast<float>(magnitude & ((1u << mantissa) - 1)) / static_cast<float>(1u << mantissa);
  const int exponent = (field ? field : 1) - bias;
  return (field ? 1 + digits : digits) * to(static_cast<std::uint32_t>(exponent + 127) << 23);
}

}  // namespace simt_bits

struct alignas(2) __nv_bfloat16 {
  std::uint16_t v;
  __nv_bfloat16() = default;
  __nv_bfloat16(float f) : v(encode(f)) {}
  operator float() const { return simt_bits::to(static_cast<std::uint32_t>(v) << 16); }
  static std::uint16_t encode(float f) {
    if (simt_bits::is_nan(f)) return 0x7fff;
    const std::uint32_t u = simt_bits::of(f);
    return static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
};
inline float __bfloat162float(__nv_bfloat16 b) { return b; }
inline __nv_bfloat16 __float2bfloat16_rn(float f) { return __nv_bfloat16(f); }
inline __nv_bfloat16 __float2bfloat16(float f) { return __nv_bfloat16(f); }

struct alignas(2) __half {
  std::uint16_t v;
  __half() = default;
  __half(float f) : v(encode(f)) {}
  operator float() const {
    const std::uint32_t magnitude = v & 0x7fffu, sign = static_cast<std::uint32_t>(v & 0x8000u)
                                                        << 16;
    if (magnitude >= 0x7c00u) return simt_bits::to(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    return simt_bits::to(sign | simt_bits::of(simt_bits::decode(magnitude, 10, 15)));
  }
  static std::uint16_t encode(float f) {
    if (simt_bits::is_nan(f)) return 0x7fff;
    const std::uint32_t sign = (simt_bits::of(f) >> 16) & 0x8000u;
    const std::uint32_t m = simt_bits::encode(f, 10, 15);
    return static_cast<std::uint16_t>(sign | (m > 0x7c00u ? 0x7c00u : m));
  }
};
inline float __half2float(__half h) { return h; }
inline __half __float2half_rn(float f) { return __half(f); }
inline __half __float2half(float f) { return __half(f); }

struct __nv_fp8_e4m3 {  // no infinity; out of range saturates to 448
  std::uint8_t __x;
  __nv_fp8_e4m3() = default;
  explicit __nv_fp8_e4m3(float f) : __x(encode(f)) {}
  explicit operator float() const {
    const std::uint32_t magnitude = __x & 0x7fu, sign = static_cast<std::uint32_t>(__x & 0x80u)
                                                        << 24;
    if (magnitude == 0x7fu) return simt_bits::to(0x7fffffffu);
    return simt_bits::to(sign | simt_bits::of(simt_bits::decode(magnitude, 3, 7)));
  }
  static std::uint8_t encode(float f) {
    if (simt_bits::is_nan(f)) return 0x7f;
    const std::uint32_t sign = (simt_bits::of(f) >> 24) & 0x80u;
    const std::uint32_t m = simt_bits::encode(f, 3, 7);
    return static_cast<std::uint8_t>(sign | (m > 0x7eu ? 0x7eu : m));
  }
};
struct __nv_fp8_e5m2 {  // out of range saturates to 57344
  std::uint8_t __x;
  __nv_fp8_e5m2() = default;
  explicit __nv_fp8_e5m2(float f) : __x(encode(f)) {}
  explicit operator float() const {
    __half h;
    h.v = static_cast<std::uint16_t>(__x << 8);
    return h;
  }
  static std::uint8_t encode(float f) {
    if (simt_bits::is_nan(f)) return 0x7f;
    const std::uint32_t sign = (simt_bits::of(f) >> 24) & 0x80u;
    const std::uint32_t m = simt_bits::encode(f, 2, 15);
    return static_cast<std::uint8_t>(sign | (m > 0x7bu ? 0x7bu : m));
  }
};
