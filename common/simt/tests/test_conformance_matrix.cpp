// Matrix operations of a warp against scalar models of their PTX definitions.

#include "common/base/numbers.h"
#include "common/simt/tests/conformance_fixture.h"

namespace octavo::simt::conformance {
namespace {

struct Product {
  float a[16][16], b[16][8], c[16][8], d[16][8];
};

class MatrixConformance : public Conformance {
 protected:
  static Product random_product(float scale);  // of whole numbers, times scale
};

INSTANTIATE_TEST_SUITE_P(Schedules, MatrixConformance, ::testing::ValuesIn(schedules_under_test()),
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

// d = a b + c by the kernel, through registers filled and read by the positions above.
void multiply(Number type, Product& m) {
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
      ra[at(i, 4)] |= std::uint32_t{encode(type, m.a[p.row][p.column])} << (16 * (i & 1));
    }
    for (int i = 0; i < 4; ++i) {
      const Position p = position_of_b(lane, i), q = position_of_c(lane, i);
      rb[at(i, 2)] |= std::uint32_t{encode(type, m.b[p.row][p.column])} << (16 * (i & 1));
      rc[static_cast<std::size_t>(lane * 4 + i)] = m.c[q.row][q.column];
    }
  }
  kernels::mma(type, ra.data(), rb.data(), rc.data(), rd.data());
  memory::backend::synchronize();
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const Position p = position_of_c(lane, i);
      m.d[p.row][p.column] = rd[static_cast<std::size_t>(lane * 4 + i)];
    }
  }
}

// The 16 products in order of k, then c.
float sum_in_order(const Product& m, int row, int column) {
  float sum = 0;
  for (int k = 0; k < 16; ++k) sum += m.a[row][k] * m.b[k][column];
  return m.c[row][column] + sum;
}

Product MatrixConformance::random_product(float scale) {
  const auto number = [scale](std::uint32_t stream, int i) {
    return (static_cast<float>(random(stream, static_cast<std::uint64_t>(i)) % 64) - 31) * scale;
  };
  Product m;
  for (int i = 0; i < 16; ++i) {
    for (int k = 0; k < 16; ++k) m.a[i][k] = number(80, i * 16 + k);
    for (int j = 0; j < 8; ++j) m.b[i][j] = number(81, i * 8 + j);
    for (int j = 0; j < 8; ++j) m.c[i][j] = number(82, i * 8 + j) * 15;
  }
  return m;
}

void expect_sums_in_order(Number type, Product& m) {
  multiply(type, m);
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j)
      ASSERT_EQ(m.d[i][j], sum_in_order(m, i, j)) << "row " << i << " column " << j;
  }
}

// Whole numbers below 2^24 in every partial sum: any order of summation gives the same floats.
TEST_P(MatrixConformance, MmaMultipliesInPtxFragmentLayout) {
  for (Number type : {Number::kBf16, Number::kHalf}) {
    Product m = random_product(1);
    expect_sums_in_order(type, m);
  }
}

#if !defined(OCTAVO_SIMT_TEST_ON_GPU)  // a tensor core's order is its own
// One product outweighs the others, which are lost beside it or not: every place of it shows.
TEST_P(MatrixConformance, MmaOfTheExecutorSumsInOrderOfK) {
  for (Number type : {Number::kBf16, Number::kHalf}) {
    for (int k = 0; k < 15; ++k) {
      Product m = random_product(0.0625f);
      for (int i = 0; i < 16; ++i) m.a[i][k] = 4096, m.a[i][15] = -4096;
      for (int j = 0; j < 8; ++j) m.b[k][j] = m.b[15][j] = 4096;
      expect_sums_in_order(type, m);
    }
  }
}
#endif

TEST_P(MatrixConformance, LdmatrixHandsOutRowsOrColumns) {
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

}  // namespace
}  // namespace octavo::simt::conformance
