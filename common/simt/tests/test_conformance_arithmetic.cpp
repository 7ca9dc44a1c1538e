// Arithmetic and bit intrinsics against scalar models.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "common/simt/tests/conformance_fixture.h"

namespace octavo::simt::conformance {
namespace {

class ArithmeticConformance : public Conformance {
 protected:
  // A number in [low, high) with all digits of a float in use.
  static float uniform(std::uint32_t stream, std::uint64_t i, float low, float high) {
    return low + (high - low) * (static_cast<float>(random(stream, i) >> 8) * 0x1p-24f);
  }
};

INSTANTIATE_TEST_SUITE_P(Schedules, ArithmeticConformance,
                         ::testing::ValuesIn(schedules_under_test()), name_of_schedule);

constexpr int kN = 400;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

int dp4a(std::uint32_t a, std::uint32_t b, int sum) {
  for (int i = 0; i < 4; ++i) {
    const int x = static_cast<int>(a >> (8 * i) & 255), y = static_cast<int>(b >> (8 * i) & 255);
    sum += (x >= 128 ? x - 256 : x) * (y >= 128 ? y - 256 : y);
  }
  return sum;
}

std::uint32_t model(Bits kind, std::uint32_t a, std::uint32_t b) {
  std::uint32_t r = 0;
  const int ia = static_cast<int>(a), ib = static_cast<int>(b);
  switch (kind) {
    case Bits::kPopc:
      for (int i = 0; i < 32; ++i) r += a >> i & 1;
      return r;
    case Bits::kFfs:
      while (r < 32 && !(a >> r & 1)) ++r;
      return a == 0 ? 0 : r + 1;
    case Bits::kClz:
      while (r < 32 && !(a >> (31 - r) & 1)) ++r;
      return r;
    case Bits::kBrev:
      for (int i = 0; i < 32; ++i) r = r << 1 | (a >> i & 1);
      return r;
    case Bits::kFloatToInt:
      return static_cast<std::uint32_t>(
          static_cast<int>(std::rint(static_cast<double>(std::bit_cast<float>(a)))));
    case Bits::kDp4a:
      return static_cast<std::uint32_t>(dp4a(a, b, 5));
    case Bits::kMin:
      return ia < ib ? a : b;
    case Bits::kMax:
      return ia > ib ? a : b;
    case Bits::kMinUnsigned:
      return a < b ? a : b;
    case Bits::kMaxUnsigned:
      break;
  }
  return a > b ? a : b;
}

TEST_P(ArithmeticConformance, BitIntrinsics) {
  Shared<std::uint32_t> a(kN), b(kN), out(kN);
  for (Bits kind : {Bits::kPopc, Bits::kFfs, Bits::kClz, Bits::kBrev, Bits::kFloatToInt,
                    Bits::kDp4a, Bits::kMin, Bits::kMax, Bits::kMinUnsigned, Bits::kMaxUnsigned}) {
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

TEST_P(ArithmeticConformance, IntrinsicsOf64Bits) {
  Shared<long long> a(kN), b(kN), out(kN);
  for (std::uint64_t i = 0; i < kN; ++i) {
    a[i] = static_cast<long long>(std::uint64_t{random(100, i)} << 32 | random(101, i));
    b[i] = static_cast<long long>(std::uint64_t{random(102, i)} << 32 | random(103, i));
    if (i % 2 == 0) b[i] = (a[i] & ~0xffffffffll) | (b[i] & 0xffffffffll);  // the low words decide
  }
  for (Wide kind : {Wide::kPopc, Wide::kMin, Wide::kMax}) {
    kernels::wide(kind, kN, a.data(), b.data(), out.data());
    finish();
    for (std::size_t i = 0; i < kN; ++i) {
      const bool less = a[i] < b[i];
      long long want = less == (kind == Wide::kMin) ? a[i] : b[i];
      if (kind == Wide::kPopc) {
        want = 0;
        for (int bit = 0; bit < 64; ++bit) want += a[i] >> bit & 1;
      }
      ASSERT_EQ(out[i], want) << static_cast<int>(kind) << " " << a[i] << " " << b[i];
    }
  }
}

// The value before the one rounding. Of the operands of the test every one of these but the
// reciprocal fits in a double, and 1 / a rounds in double to no number halfway between two floats.
double unrounded(Exact kind, double a, double b, double c) {
  switch (kind) {
    case Exact::kFma:
      return a * b + c;
    case Exact::kAdd:
      return a + b;
    case Exact::kMul:
      return a * b;
    case Exact::kReciprocal:
      return 1 / a;
    case Exact::kMin:
      return a < b ? a : b;
    case Exact::kMax:
      break;
  }
  return a > b ? a : b;
}

TEST_P(ArithmeticConformance, RoundedOnce) {
  Shared<float> a(kN), b(kN), c(kN), out(kN);
  for (std::uint64_t i = 0; i < kN; ++i) {
    a[i] = uniform(110, i, 1, 2);
    b[i] = uniform(111, i, -2, -1);
    c[i] = uniform(112, i, 1, 4);
    if (i % 2 == 0) c[i] = -(a[i] * b[i]);  // leaves what the product alone would round away
    if (i % 4 == 1) std::swap(a[i], b[i]);
  }
  for (Exact kind :
       {Exact::kFma, Exact::kAdd, Exact::kMul, Exact::kReciprocal, Exact::kMin, Exact::kMax}) {
    kernels::exact(kind, kN, a.data(), b.data(), c.data(), out.data());
    finish();
    for (std::size_t i = 0; i < kN; ++i) {
      ASSERT_EQ(out[i], static_cast<float>(unrounded(kind, a[i], b[i], c[i])))
          << static_cast<int>(kind) << ": " << a[i] << " " << b[i] << " " << c[i];
    }
  }
}

TEST_P(ArithmeticConformance, MinAndMaxPreferNumbersToNan) {
  Shared<float> a(3), b(3), out(3);
  a[0] = kNan, b[0] = 3;
  a[1] = 3, b[1] = kNan;
  a[2] = kNan, b[2] = kNan;
  for (Exact kind : {Exact::kMin, Exact::kMax}) {
    kernels::exact(kind, 3, a.data(), b.data(), b.data(), out.data());
    finish();
    EXPECT_EQ(out[0], 3) << static_cast<int>(kind);
    EXPECT_EQ(out[1], 3) << static_cast<int>(kind);
    EXPECT_TRUE(std::isnan(out[2])) << static_cast<int>(kind);
  }
}

double model(Approximate kind, double a, double b) {
  switch (kind) {
    case Approximate::kRsqrt:
      return 1 / std::sqrt(a);
    case Approximate::kExp:
      return std::exp(a);
    case Approximate::kLog:
      return std::log(a);
    case Approximate::kLog2:
      return std::log2(a);
    case Approximate::kSin:
      return std::sin(a);
    case Approximate::kCos:
      return std::cos(a);
    case Approximate::kDivide:
      break;
  }
  return a / b;
}

// Operands in [0.125, 3]. There the CUDA Programming Guide ("Mathematical Functions", intrinsic
// functions) allows errors of at most 2^-21 for the logarithms (near 1) and the sine and cosine,
// and of a few units in the last place for the rest.
TEST_P(ArithmeticConformance, ApproximateFunctions) {
  Shared<float> a(kN), b(kN), out(kN);
  for (std::uint64_t i = 0; i < kN; ++i) {
    a[i] = uniform(120, i, 0.125f, 3);
    b[i] = uniform(121, i, 0.125f, 3);
  }
  for (Approximate kind :
       {Approximate::kRsqrt, Approximate::kExp, Approximate::kLog, Approximate::kLog2,
        Approximate::kSin, Approximate::kCos, Approximate::kDivide}) {
    kernels::approximate(kind, kN, a.data(), b.data(), out.data());
    finish();
    for (std::size_t i = 0; i < kN; ++i) {
      const double want = model(kind, a[i], b[i]);
      ASSERT_NEAR(out[i], want, std::max(1.0, std::abs(want)) * 0x1p-20)
          << static_cast<int>(kind) << " of " << a[i] << " " << b[i];
    }
  }
}

}  // namespace
}  // namespace octavo::simt::conformance
