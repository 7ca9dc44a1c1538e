// simt_profile: what the example kernels do to memory, line by line.

#include <cstdio>
#include <vector>

#include "common/base/error.h"
#include "common/simt/examples/examples.h"
#include "common/simt/profile/profile.h"

namespace octavo::simt::examples {
namespace {

struct alignas(256) Line {
  float element[64] = {};
};

// Room for n floats, aligned as device memory is.
std::vector<Line> room(int n) { return std::vector<Line>(static_cast<std::size_t>(n) / 64 + 1); }

void run() {
  Profiler profiler;
  constexpr int kRows = 64, kCols = 128;
  std::vector<Line> x = room(kRows * kCols), y = room(kRows * kCols);
  for (Transpose version : {Transpose::kNaive, Transpose::kTiled, Transpose::kPadded}) {
    on_simt::transpose(version, x[0].element, y[0].element, kRows, kCols);
  }
  on_simt::softmax(x[0].element, y[0].element, kRows, kCols);
  on_simt::scan(reinterpret_cast<const int*>(x[0].element), reinterpret_cast<int*>(y[0].element), 4,
                512);
  constexpr int kT = 128, kN = 128, kK = 256;
  std::vector<Line> a = room(kT * kK / 2), b = room(kN * kK / 2), c = room(kT * kN);
  on_simt::matmul({reinterpret_cast<const std::uint16_t*>(a[0].element),
                   reinterpret_cast<const std::uint16_t*>(b[0].element), c[0].element, kT, kN, kK});
  for (const KernelProfile& kernel : profiler.kernels())
    std::printf("%s\n", to_text(kernel).c_str());
}

}  // namespace
}  // namespace octavo::simt::examples

int main() {
  try {
    octavo::simt::examples::run();
  } catch (const octavo::Error& error) {
    std::fprintf(stderr, "simt_profile: %s\n", error.what());
    return 1;
  }
  return 0;
}
