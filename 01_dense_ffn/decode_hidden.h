#pragma once
// The first half of a gated layer's decode kernels: H of 1 to 16 rows by 16 columns, by one block.
// Included by kernel files.
//
// Gate's sums first, then up's, so that a thread has both of its element and a block's columns of
// H fill whole sectors, in bf16 one of 32 bytes a row.

#include "01_dense_ffn/decode_rows.h"
#include "01_dense_ffn/ffn_params.h"

namespace octavo::dense_ffn::device {
inline namespace SIMT_FLAVOUR {

// H[t, f0 + c] by thread 16 t + c, for the rows t of `in` and the columns below F. All threads of
// the block call it together.
template <bool Aligned, class E, class Index>
__device__ __forceinline__ void decode_hidden(const HiddenParams<E>& a,
                                              const DecodeInput<E, Index>& in, int f0,
                                              DecodePartials (&partials)[2]) {
  const auto sum_of = [&](const E* weights, DecodePartials& partial) {
    const auto row = [&](int c) -> const E* {
      return f0 + c < a.F ? weights + static_cast<std::size_t>(f0 + c) * a.D : nullptr;
    };
    return decode_sum<Aligned>(in, row, partial);
  };
  const float gate = a.gate != nullptr ? sum_of(a.gate, partials[0]) : 0.0f;
  const float up = sum_of(a.up, partials[1]);
  const int t = threadIdx.x / kDecodeColumns, f = f0 + threadIdx.x % kDecodeColumns;
  if (t >= in.T || f >= a.F) return;
  a.hidden[static_cast<std::size_t>(t) * a.F + f] =
      simt::from_float<E>(hidden_value(a, f, gate, up));
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::dense_ffn::device
