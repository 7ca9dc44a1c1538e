// The executor's own number types against CUDA's: equal bits for every decode and for encodes from
// the whole range of floats.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#define OCTAVO_SIMT_FALLBACK_NESTED 1
namespace own {
#include "common/simt/cpu/number_types_fallback.h"
}

namespace octavo::simt {
namespace {

template <class T>
std::uint32_t bits_of(const T& x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof x);
  return bits;
}
template <class T>
T from_bits(std::uint32_t bits) {
  T x;
  std::memcpy(static_cast<void*>(&x), &bits, sizeof x);
  return x;
}

template <class Cuda, class Own>
void check_decodes(std::uint32_t patterns) {
  for (std::uint32_t u = 0; u < patterns; ++u) {
    const auto a = static_cast<float>(from_bits<Cuda>(u));
    const auto b = static_cast<float>(from_bits<Own>(u));
    ASSERT_TRUE(bits_of(a) == bits_of(b) || (std::isnan(a) && std::isnan(b)))
        << u << ": " << a << ", own " << b;
  }
}

template <class Cuda, class Own>
void check_encodes() {
  for (std::uint64_t u = 0; u < (std::uint64_t{1} << 32); u += 4093) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(u));
    ASSERT_EQ(bits_of(Cuda(x)), bits_of(Own(x))) << x;
  }
}

TEST(NumberTypes, Bfloat16) {
  check_decodes<__nv_bfloat16, own::__nv_bfloat16>(1u << 16);
  check_encodes<__nv_bfloat16, own::__nv_bfloat16>();
}
TEST(NumberTypes, Half) {
  check_decodes<__half, own::__half>(1u << 16);
  check_encodes<__half, own::__half>();
}
TEST(NumberTypes, Fp8WithThreeMantissaBits) {
  check_decodes<__nv_fp8_e4m3, own::__nv_fp8_e4m3>(1u << 8);
  check_encodes<__nv_fp8_e4m3, own::__nv_fp8_e4m3>();
}
TEST(NumberTypes, Fp8WithTwoMantissaBits) {
  check_decodes<__nv_fp8_e5m2, own::__nv_fp8_e5m2>(1u << 8);
  check_encodes<__nv_fp8_e5m2, own::__nv_fp8_e5m2>();
}

}  // namespace
}  // namespace octavo::simt
