// Copies, vector accesses and number types against scalar models.

#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "common/simt/tests/conformance_fixture.h"

namespace octavo::simt::conformance {
namespace {

class DataConformance : public Conformance {};

INSTANTIATE_TEST_SUITE_P(Schedules, DataConformance, ::testing::ValuesIn(schedules_under_test()),
                         name_of_schedule);

TEST_P(DataConformance, CpAsyncCopiesTheBytesAndZeroesTheRest) {
  for (int shift = 0; shift < 17; ++shift) {
    Shared<int> bytes(32);
    Shared<unsigned char> in(512), out(512);
    for (std::size_t i = 0; i < 512; ++i) in[i] = static_cast<unsigned char>(i % 255 + 1);
    for (int l = 0; l < 32; ++l) bytes[static_cast<std::size_t>(l)] = (l + shift) % 17;
    out.fill(99);
    kernels::cp_async(bytes.data(), in.data(), out.data());
    finish();
    for (std::size_t i = 0; i < 512; ++i) {
      const bool copied = static_cast<int>(i % 16) < bytes[i / 16];
      ASSERT_EQ(out[i], copied ? in[i] : 0) << i;
    }
  }
}

TEST_P(DataConformance, CpAsyncWaitCompletesTheOldestGroups) {
  Shared<unsigned char> in(1536), out(1536);
  for (std::size_t i = 0; i < 1536; ++i) in[i] = static_cast<unsigned char>(i * 7 % 251);
  out.fill(255);
  kernels::cp_async_groups(in.data(), out.data());
  finish();
  for (std::size_t i = 0; i < 1536; ++i) ASSERT_EQ(out[i], in[i]) << i;
}

TEST_P(DataConformance, PacksMoveEveryWidth) {
  for (int width : {4, 8, 16}) {
    for (int element : {2, 4}) {
      constexpr int kBytes = 1024;
      Shared<unsigned char> in(kBytes), out(kBytes);
      for (std::size_t i = 0; i < kBytes; ++i) in[i] = static_cast<unsigned char>(random(90, i));
      out.fill(0);
      kernels::packs(width, element, kBytes, in.data(), out.data());
      finish();
      for (std::size_t i = 0; i < kBytes; ++i)
        ASSERT_EQ(out[i], in[i]) << width << " " << element << " " << i;
    }
  }
}

struct Format {
  Number type;
  int exponent_bits, mantissa_bits, bias;
  bool infinity;  // as IEEE; e4m3 has none, and one NaN pattern a sign
};
constexpr Format kFormats[] = {{Number::kBf16, 8, 7, 127, true},
                               {Number::kHalf, 5, 10, 15, true},
                               {Number::kE4m3, 4, 3, 7, false},
                               {Number::kE5m2, 5, 2, 15, true}};

// The value of a bit pattern by the format's definition.
double value_of(const Format& f, std::uint32_t bits) {
  const int field = static_cast<int>(bits >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
  const int digits = static_cast<int>(bits) & ((1 << f.mantissa_bits) - 1);
  const double sign = bits >> (f.exponent_bits + f.mantissa_bits) & 1 ? -1 : 1;
  const bool top = field == (1 << f.exponent_bits) - 1;
  if (top && f.infinity) return digits == 0 ? sign * INFINITY : NAN;
  if (top && digits == (1 << f.mantissa_bits) - 1) return NAN;
  const double fraction = std::ldexp(digits, -f.mantissa_bits);
  return sign *
         (field == 0 ? std::ldexp(fraction, 1 - f.bias) : std::ldexp(1 + fraction, field - f.bias));
}

TEST_P(DataConformance, EveryBitPatternDecodes) {
  for (const Format& f : kFormats) {
    const int n = 1 << (1 + f.exponent_bits + f.mantissa_bits);
    Shared<std::uint32_t> in(static_cast<std::size_t>(n));
    Shared<float> out(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) in[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(i);
    kernels::decode(f.type, n, in.data(), out.data());
    finish();
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      const double want = value_of(f, static_cast<std::uint32_t>(i));
      ASSERT_TRUE(std::isnan(want) ? std::isnan(out[i]) : want == static_cast<double>(out[i]))
          << "format " << static_cast<int>(f.type) << " bits " << i << ": " << out[i] << ", want "
          << want;
    }
  }
}

// Among the finite values of the format, none is nearer, and of two equally near the even pattern
// is taken.
TEST_P(DataConformance, NumbersRoundToNearestEven) {
  for (const Format& f : kFormats) {
    constexpr int kN = 4000;
    Shared<float> in(kN), decoded(kN);
    Shared<std::uint32_t> encoded(kN);
    const int half_patterns = 1 << (f.exponent_bits + f.mantissa_bits);
    for (std::uint64_t i = 0; i < kN; ++i) {
      const std::uint32_t pattern = random(97, i) % static_cast<std::uint32_t>(half_patterns - 2);
      const double low = value_of(f, pattern), high = value_of(f, pattern + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) {
        in[i] = 0;
        continue;
      }
      const double between = i % 3 == 0 ? 0.5 : static_cast<double>(random(98, i) % 1000) / 1000;
      in[i] = static_cast<float>(low + (high - low) * between);
    }
    kernels::convert(f.type, kN, in.data(), encoded.data(), decoded.data());
    finish();
    for (std::size_t i = 0; i < kN; ++i) {
      const double x = in[i], got = value_of(f, encoded[i]);
      ASSERT_EQ(static_cast<double>(decoded[i]), got);
      const double error = std::abs(got - x);
      for (std::uint32_t neighbour : {encoded[i] + 1, encoded[i] - 1}) {
        if (encoded[i] == 0 && neighbour != 1) continue;
        const double other = value_of(f, neighbour);
        if (!std::isfinite(other)) continue;
        const double other_error = std::abs(other - x);
        ASSERT_TRUE(error < other_error || (error == other_error && encoded[i] % 2 == 0))
            << "format " << static_cast<int>(f.type) << ": " << x << " became " << got
            << ", nearer is " << other;
      }
    }
  }
}

// What lies beyond the largest number becomes infinity, where the format has one and is not of 8
// bits: those saturate.
TEST_P(DataConformance, TheEndsOfTheRangeAndTheSign) {
  for (const Format& f : kFormats) {
    const int all = 1 << (f.exponent_bits + f.mantissa_bits);
    const auto top =
        static_cast<std::uint32_t>(f.infinity ? all - (1 << f.mantissa_bits) : all - 1);
    const double largest = value_of(f, top - 1), step = largest - value_of(f, top - 2);
    const bool saturates = f.exponent_bits + f.mantissa_bits == 7;
    const double beyond = saturates ? largest : INFINITY, smallest = value_of(f, 1);
    const std::pair<double, double> cases[] = {{0, 0},
                                               {smallest, smallest},
                                               {smallest / 2, 0},
                                               {smallest * 0.75, smallest},
                                               {largest, largest},
                                               {largest + step / 4, largest},
                                               {largest + step / 2, beyond},
                                               {largest * 2, beyond},
                                               {INFINITY, beyond}};
    constexpr std::size_t kN = 2 * std::size(cases) + 1;
    Shared<float> in(kN), decoded(kN);
    Shared<std::uint32_t> encoded(kN);
    for (std::size_t i = 0; i < std::size(cases); ++i) {
      in[2 * i] = static_cast<float>(cases[i].first);
      in[2 * i + 1] = -in[2 * i];
    }
    in[kN - 1] = std::numeric_limits<float>::quiet_NaN();
    kernels::convert(f.type, kN, in.data(), encoded.data(), decoded.data());
    finish();
    for (std::size_t i = 0; i < std::size(cases); ++i) {
      EXPECT_EQ(decoded[2 * i], cases[i].second)
          << "format " << static_cast<int>(f.type) << " of " << in[2 * i];
      EXPECT_EQ(encoded[2 * i + 1], encoded[2 * i] | static_cast<std::uint32_t>(all))
          << "format " << static_cast<int>(f.type) << " of " << in[2 * i + 1];
    }
    EXPECT_TRUE(std::isnan(decoded[kN - 1])) << "format " << static_cast<int>(f.type);
  }
}

}  // namespace
}  // namespace octavo::simt::conformance
