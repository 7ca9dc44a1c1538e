#pragma once
// Four kernels to read, in this order: softmax (shuffles), transpose (coalescing and bank
// conflicts), scan (barriers), matmul (cp.async, ldmatrix, mma). Each is declared once for each
// backend; pointers are to memory of that backend, `stream` is a cudaStream_t there and unused on
// the executor.

#include <cstdint>

namespace octavo::simt::examples {

enum class Transpose { kNaive, kTiled, kPadded };

struct MatmulArgs {
  const std::uint16_t* x;  // [T, K] bf16
  const std::uint16_t* w;  // [N, K] bf16
  float* y;                // [T, N]
  int T, N, K;             // K a multiple of 8
};

#define SIMT_EXAMPLES(BACKEND)                                                             \
  namespace BACKEND {                                                                      \
  /* y[r, c] = exp(x[r, c]) / sum over c of exp(x[r, c]); x, y [rows, cols]. */            \
  void softmax(const float* x, float* y, int rows, int cols, void* stream = nullptr);      \
  /* y[c, r] = x[r, c]; x [rows, cols], y [cols, rows]. */                                 \
  void transpose(Transpose version, const float* x, float* y, int rows, int cols,          \
                 void* stream = nullptr);                                                  \
  /* y[r, c] = x[r, 0] + ... + x[r, c]; x, y [rows, cols]. */                              \
  void scan(const int* x, int* y, int rows, int cols, void* stream = nullptr);             \
  /* y = x w^T, products and sums in float. Throws Error when K is not a multiple of 8. */ \
  void matmul(const MatmulArgs& args, void* stream = nullptr);                             \
  }
SIMT_EXAMPLES(on_simt)
SIMT_EXAMPLES(on_cuda)
#undef SIMT_EXAMPLES

// The same, in the plainest form.
void softmax_reference(const float* x, float* y, int rows, int cols);
void transpose_reference(const float* x, float* y, int rows, int cols);
void scan_reference(const int* x, int* y, int rows, int cols);
void matmul_reference(const MatmulArgs& args);

}  // namespace octavo::simt::examples
