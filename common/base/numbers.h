#pragma once
// Storage types of 16 bits. They hold and convert; arithmetic happens in float.

#include <bit>
#include <cstdint>
#include <string_view>

namespace octavo {

enum class DType : std::uint8_t { kF32, kF16, kBF16 };

constexpr std::int64_t bytes_of(DType type) { return type == DType::kF32 ? 4 : 2; }
std::string_view name_of(DType type);  // "F32", "F16", "BF16", as safetensors spells them

// bfloat16: the upper half of a float. Rounds to nearest, ties to even; NaN stays NaN (quiet).
struct bf16 {
  std::uint16_t bits = 0;

  bf16() = default;
  explicit bf16(float value) {
    std::uint32_t u = std::bit_cast<std::uint32_t>(value);
    if ((u & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<std::uint16_t>((u >> 16) | 0x40u);
    } else {
      u += 0x7fffu + ((u >> 16) & 1u);
      bits = static_cast<std::uint16_t>(u >> 16);
    }
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

// IEEE 754 binary16 with subnormals. Rounds to nearest, ties to even; overflow gives infinity.
struct half {
  std::uint16_t bits = 0;

  half() = default;
  explicit half(float value) : bits(encode(value)) {}
  explicit operator float() const;

  static std::uint16_t encode(float value);
};

}  // namespace octavo
