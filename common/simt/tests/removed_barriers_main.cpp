// simt_removed_barriers NAME: runs an example that lacks one barrier and prints WRONG when its
// result is, else RIGHT.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/numbers.h"
#include "common/simt/tests/removed_barriers.h"

namespace octavo::simt::examples {
namespace {

struct alignas(16) Piece {  // cp.async wants its source aligned
  std::uint16_t element[8];
};

std::vector<Piece> numbers(int n) {
  std::vector<Piece> v(static_cast<std::size_t>(n) / 8);
  for (int i = 0; i < n; ++i) {
    v[static_cast<std::size_t>(i / 8)].element[i % 8] =
        octavo::bf16(static_cast<float>(i * 7 % 13) - 6).bits;
  }
  return v;
}

template <class F>
bool matmul_is_right(F matmul) {
  constexpr int kT = 64, kN = 64, kK = 256;
  const std::vector<Piece> x = numbers(kT * kK), w = numbers(kN * kK);
  std::vector<float> y(kT * kN), want(kT * kN);
  MatmulArgs args{x[0].element, w[0].element, want.data(), kT, kN, kK};
  matmul_reference(args);
  args.y = y.data();
  matmul(args, nullptr);
  return y == want;  // whole numbers: exact in any order
}

template <class F>
bool scan_is_right(F scan) {
  constexpr int kRows = 2, kCols = 700;
  std::vector<int> x(kRows * kCols), y(x.size()), want(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(i * 37 % 101);
  scan_reference(x.data(), want.data(), kRows, kCols);
  scan(x.data(), y.data(), kRows, kCols, nullptr);
  return y == want;
}

bool transpose_is_right() {
  constexpr int kRows = 64, kCols = 32;
  std::vector<float> x(kRows * kCols), y(x.size()), want(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  transpose_reference(x.data(), want.data(), kRows, kCols);
  removed::transpose_1::transpose(Transpose::kPadded, x.data(), y.data(), kRows, kCols);
  return y == want;
}

bool is_right(const std::string& name) {
  if (name == "matmul_1") return matmul_is_right(removed::matmul_1::matmul);
  if (name == "matmul_2") return matmul_is_right(removed::matmul_2::matmul);
  if (name == "scan_1") return scan_is_right(removed::scan_1::scan);
  if (name == "scan_2") return scan_is_right(removed::scan_2::scan);
  if (name == "scan_3") return scan_is_right(removed::scan_3::scan);
  if (name == "transpose_1") return transpose_is_right();
  fail("no example is called '{}'", name);
}

}  // namespace
}  // namespace octavo::simt::examples

int main(int argc, char** argv) {
  try {
    octavo::require(argc == 2, "usage: simt_removed_barriers NAME");
    std::puts(octavo::simt::examples::is_right(argv[1]) ? "RIGHT" : "WRONG");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simt_removed_barriers: %s\n", error.what());
    return 2;
  }
  return 0;
}
