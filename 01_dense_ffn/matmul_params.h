#pragma once
// What the matmul kernels take.

#include <cstdint>

#include "01_dense_ffn/matmul.h"
#include "common/base/host_device.h"

namespace octavo::dense_ffn {

template <class E>
struct MatmulParams {
  const E* x;         // [T, K]
  const E* w;         // [N, K]
  const float* bias;  // [N]; null: none
  float* y;           // [T, N]
  int T, N, K;
};

// The number type of operands that a kernel sees as E.
template <class E>
inline constexpr DType kTypeOf = sizeof(E) == sizeof(float) ? DType::kF32 : DType::kBF16;

// Throws Error when the extents do not fit, when one of them does not fit an int, or when x or w is
// of another type.
template <class E>
MatmulParams<E> params_of(const MatmulArgs& a, View<const float, 1> bias = {}) {
  check_shapes(a);
  constexpr std::int64_t kLimit = INT32_MAX - 1024;  // a tile beyond the end must not overflow
  require(a.rows() <= kLimit && a.outputs() <= kLimit && a.inputs() <= kLimit,
          "matmul: T {}, N {} and K {} must be at most {}", a.rows(), a.outputs(), a.inputs(),
          kLimit);
  require(a.x.dtype() == kTypeOf<E> && a.w.dtype() == kTypeOf<E>,
          "matmul: x is {} and w {}, this kernel wants both in {}", a.x.describe(), a.w.describe(),
          name_of(kTypeOf<E>));
  return {static_cast<const E*>(a.x.data()),
          static_cast<const E*>(a.w.data()),
          bias.size() > 0 ? bias.data() : nullptr,
          a.y.data(),
          static_cast<int>(a.rows()),
          static_cast<int>(a.outputs()),
          static_cast<int>(a.inputs())};
}

OCTAVO_HD inline bool is_aligned(const void* p, int bytes) {
  return reinterpret_cast<std::uintptr_t>(p) % static_cast<unsigned>(bytes) == 0;
}

// Whether every row of a matrix [rows, K] starts at a multiple of 16 bytes, as loads of 16 need.
template <class E>
bool rows_aligned(const E* matrix, int K) {
  return is_aligned(matrix, 16) && K % (16 / static_cast<int>(sizeof(E))) == 0;
}

}  // namespace octavo::dense_ffn
