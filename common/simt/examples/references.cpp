#include <algorithm>
#include <bit>
#include <cmath>

#include "common/simt/examples/examples.h"

namespace octavo::simt::examples {
namespace {

double value_of(std::uint16_t bf16) { return std::bit_cast<float>(std::uint32_t{bf16} << 16); }

}  // namespace

void softmax_reference(const float* x, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r, x += cols, y += cols) {
    const double largest = *std::max_element(x, x + cols);
    double sum = 0;
    for (int c = 0; c < cols; ++c) sum += std::exp(x[c] - largest);
    for (int c = 0; c < cols; ++c) y[c] = static_cast<float>(std::exp(x[c] - largest) / sum);
  }
}

void transpose_reference(const float* x, float* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < cols; ++c) y[c * rows + r] = x[r * cols + c];
  }
}

void scan_reference(const int* x, int* y, int rows, int cols) {
  for (int r = 0; r < rows; ++r, x += cols, y += cols) {
    int sum = 0;
    for (int c = 0; c < cols; ++c) y[c] = sum += x[c];
  }
}

void matmul_reference(const MatmulArgs& a) {
  for (int t = 0; t < a.T; ++t) {
    for (int n = 0; n < a.N; ++n) {
      double sum = 0;
      for (int k = 0; k < a.K; ++k) sum += value_of(a.x[t * a.K + k]) * value_of(a.w[n * a.K + k]);
      a.y[t * a.N + n] = static_cast<float>(sum);
    }
  }
}

}  // namespace octavo::simt::examples
