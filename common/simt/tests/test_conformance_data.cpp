// Matrix operations, copies, vector accesses, intrinsics and number types against scalar models.

#include <bit>
#include <cmath>
#include <limits>

#include "common/base/numbers.h"
#include "common/simt/tests/conformance_fixture.h"

namespace octavo::simt::conformance {
namespace {

class DataConformance : public Conformance {};

INSTANTIATE_TEST_SUITE_P(Schedules, DataConformance, ::testing::ValuesIn(schedules_under_test()),
                         name_of_schedule);

std::uint16_t encode(Number type, float x) {
  return type == Number::kBf16 ? octavo::bf16(x).bits : octavo::half(x).bits;
}

struct Position {
  int row, column;
};
// PTX ISA, "Matrix Fragments for mma.m16n8k16": where element i of a lane's fragment lies.
Position position_of_a(int lane, int i) {
  const int group = lane >> 2, thread = lane % 4;
  return {(0 <= i && i < 2) || (4 <= i && i < 6) ? group : group + 8,
          thread * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
}
Position position_of_b(int lane, int i) {
  return {(lane % 4) * 2 + (i & 1) + (i >= 2 ? 8 : 0), lane >> 2};
}
Position position_of_c(int lane, int i) {
  return {i < 2 ? lane >> 2 : (lane >> 2) + 8, (lane % 4) * 2 + (i & 1)};
}

// Whole numbers below 2^24 in every partial sum: any order of summation gives the same floats.
TEST_P(DataConformance, MmaMultipliesInPtxFragmentLayout) {
  for (Number type : {Number::kBf16, Number::kHalf}) {
    float a[16][16], b[16][8], c[16][8];
    for (int i = 0; i < 16; ++i) {
      for (int k = 0; k < 16; ++k)
        a[i][k] = static_cast<float>(random(80, static_cast<std::uint64_t>(i * 16 + k)) % 64) - 31;
      for (int j = 0; j < 8; ++j)
        b[i][j] = static_cast<float>(random(81, static_cast<std::uint64_t>(i * 8 + j)) % 64) - 31;
      for (int j = 0; j < 8; ++j)
        c[i][j] = static_cast<float>(random(82, static_cast<std::uint64_t>(i * 8 + j)) % 999);
    }
    Shared<std::uint32_t> ra(32 * 4), rb(32 * 2);
    Shared<float> rc(32 * 4), rd(32 * 4);
    ra.fill(0);
    rb.fill(0);
    for (int lane = 0; lane < 32; ++lane) {
      const auto at = [lane](int i, int registers) {
        return static_cast<std::size_t>(lane * registers + i / 2);
      };
      for (int i = 0; i < 8; ++i) {
        const Position p = position_of_a(lane, i);
        ra[at(i, 4)] |= std::uint32_t{encode(type, a[p.row][p.column])} << (16 * (i & 1));
      }
      for (int i = 0; i < 4; ++i) {
        const Position p = position_of_b(lane, i), q = position_of_c(lane, i);
        rb[at(i, 2)] |= std::uint32_t{encode(type, b[p.row][p.column])} << (16 * (i & 1));
        rc[static_cast<std::size_t>(lane * 4 + i)] = c[q.row][q.column];
      }
    }
    kernels::mma(type, ra.data(), rb.data(), rc.data(), rd.data());
    finish();
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const Position p = position_of_c(lane, i);
        float want = c[p.row][p.column];
        for (int k = 0; k < 16; ++k) want += a[p.row][k] * b[k][p.column];
        ASSERT_EQ(rd[static_cast<std::size_t>(lane * 4 + i)], want)
            << "lane " << lane << " element " << i;
      }
    }
  }
}

TEST_P(DataConformance, LdmatrixHandsOutRowsOrColumns) {
  for (int count : {1, 2, 4}) {
    for (bool transposed : {false, true}) {
      Shared<std::uint16_t> matrices(static_cast<std::size_t>(count) * 64);
      for (std::size_t i = 0; i < matrices.size(); ++i)
        matrices[i] = static_cast<std::uint16_t>(1000 + i);
      Shared<std::uint32_t> out(static_cast<std::size_t>(count) * 32);
      kernels::ldmatrix(count, transposed, matrices.data(), out.data());
      finish();
      for (int lane = 0; lane < 32; ++lane) {
        for (int m = 0; m < count; ++m) {
          std::uint32_t want = 0;
          for (int h = 0; h < 2; ++h) {
            const int major = lane / 4, minor = 2 * (lane % 4) + h;
            const int at = m * 64 + (transposed ? minor * 8 + major : major * 8 + minor);
            want |= std::uint32_t{matrices[static_cast<std::size_t>(at)]} << (16 * h);
          }
          ASSERT_EQ(out[static_cast<std::size_t>(lane * count + m)], want)
              << "x" << count << (transposed ? " transposed" : "") << " lane " << lane << " matrix "
              << m;
        }
      }
    }
  }
}

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

std::uint32_t model(Bits kind, std::uint32_t a, std::uint32_t b) {
  int r = 0;
  const int ia = static_cast<int>(a), ib = static_cast<int>(b);
  switch (kind) {
    case Bits::kPopc:
      for (int i = 0; i < 32; ++i) r += static_cast<int>(a >> i & 1);
      break;
    case Bits::kFfs:
      for (int i = 31; i >= 0; --i) {
        if (a >> i & 1) r = i + 1;
      }
      break;
    case Bits::kClz:
      while (r < 32 && !(a >> (31 - r) & 1)) ++r;
      break;
    case Bits::kBrev: {
      std::uint32_t reversed = 0;
      for (int i = 0; i < 32; ++i) reversed = reversed << 1 | (a >> i & 1);
      return reversed;
    }
    case Bits::kFloatToInt:
      r = static_cast<int>(std::rint(static_cast<double>(std::bit_cast<float>(a))));
      break;
    case Bits::kDp4a:
      r = 5;
      for (int i = 0; i < 4; ++i) {
        const int x = static_cast<int>(a >> (8 * i) & 255),
                  y = static_cast<int>(b >> (8 * i) & 255);
        r += (x >= 128 ? x - 256 : x) * (y >= 128 ? y - 256 : y);
      }
      break;
    case Bits::kMin:
      r = ia < ib ? ia : ib;
      break;
    case Bits::kMax:
      r = ia > ib ? ia : ib;
      break;
  }
  return static_cast<std::uint32_t>(r);
}

TEST_P(DataConformance, BitIntrinsics) {
  constexpr int kN = 400;
  Shared<std::uint32_t> a(kN), b(kN), out(kN);
  for (Bits kind : {Bits::kPopc, Bits::kFfs, Bits::kClz, Bits::kBrev, Bits::kFloatToInt,
                    Bits::kDp4a, Bits::kMin, Bits::kMax}) {
    for (std::uint64_t i = 0; i < kN; ++i) {
      a[i] = i < 32 ? 1u << i : i < 64 ? (1u << (i - 32)) - 1 : random(95, i);
      b[i] = random(96, i);
      if (kind == Bits::kFloatToInt)
        a[i] = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<int>(i) - 200) * 0.5f);
    }
    kernels::bits(kind, kN, a.data(), b.data(), out.data());
    finish();
    for (std::size_t i = 0; i < kN; ++i)
      ASSERT_EQ(out[i], model(kind, a[i], b[i])) << static_cast<int>(kind) << " " << a[i];
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

}  // namespace
}  // namespace octavo::simt::conformance
