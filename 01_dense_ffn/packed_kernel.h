#pragma once
// The inner loops of the packed product: R rows of x times P panels of weights, over one block of
// k. A template over the instruction set S of common/base/simd.h; a panel is 2 S::kLanes outputs.
//
// The sum of an output is the same chain of fused multiply-adds, k ascending from 0, in every
// instantiation: what differs between R and P is how many chains run beside each other.

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "common/base/simd.h"

namespace octavo::dense_ffn {

// Terms of a sum that are added up before they go to y: a block of x and a panel of weights of this
// length stay in the first-level cache.
inline constexpr std::int64_t kBlockK = 256;

// Where a kernel's sums go: the first block of k writes them, the others add to them.
struct Target {
  float* y = nullptr;        // of the first row and panel
  std::int64_t stride = 0;   // elements between rows
  std::int64_t columns = 0;  // from there to the end of the row; a panel may reach beyond it
  bool first = true;
};

template <class S>
void put_whole(const typename S::Pair& sum, float* y, bool first) {
  S::store(y, first ? sum.low : S::add(S::load(y), sum.low));
  y += S::kLanes;
  S::store(y, first ? sum.high : S::add(S::load(y), sum.high));
}

// A panel of which only the first `columns` outputs exist.
template <class S>
[[gnu::noinline]] void put_part(const typename S::Pair& sum, float* y, bool first,
                                std::int64_t columns) {
  float sums[2 * S::kLanes];
  put_whole<S>(sum, sums, true);
  for (std::int64_t i = 0; i < columns; ++i) y[i] = first ? sums[i] : y[i] + sums[i];
}

// f(0), ..., f(N - 1), written out: the indices are constants, so that arrays of sums are
// registers.
template <int N, class F>
inline void unrolled(F f) {
  [&]<int... I>(std::integer_sequence<int, I...>) { (f(std::integral_constant<int, I>{}), ...); }
  (std::make_integer_sequence<int, N>{});
}

// x: rows kBlockK apart; w: P panels [length][2 S::kLanes], `panel` elements apart. kAhead: how
// many elements behind the one in use the memory is asked for; 0: it is in a cache already.
// Everything in it is inlined: else the sums would live in memory.
template <class S, int R, int P, int kAhead, class W>
[[gnu::noinline]] void multiply_panels(const float* x, const W* w, std::int64_t panel,
                                       std::int64_t length, Target to) {
  constexpr std::int64_t kWidth = 2 * S::kLanes;
  typename S::Pair sum[R][P];
  unrolled<R>([&](auto r) __attribute__((always_inline)) {
    simd::prefetch(to.y + r * to.stride);  // in time for the end
    unrolled<P>([&](auto p) __attribute__((always_inline)) {
      sum[r][p] = {S::broadcast(0), S::broadcast(0)};
    });
  });
  for (std::int64_t k = 0; k < length; ++k, w += kWidth) {
    typename S::Pair weights[P];
    unrolled<P>([&](auto p) __attribute__((always_inline)) {
      weights[p] = S::load_pair(w + p * panel);
      if constexpr (kAhead != 0) simd::prefetch(w + p * panel + kAhead);
    });
    unrolled<R>([&](auto r) __attribute__((always_inline)) {
      const typename S::Vec b = S::broadcast(x[r * kBlockK + k]);
      unrolled<P>([&](auto p) __attribute__((always_inline)) {
        sum[r][p].low = S::fma(b, weights[p].low, sum[r][p].low);
        sum[r][p].high = S::fma(b, weights[p].high, sum[r][p].high);
      });
    });
  }
  if (to.columns >= P * kWidth) {
    unrolled<R>([&](auto r) __attribute__((always_inline)) {
      unrolled<P>([&](auto p) __attribute__((always_inline)) {
        put_whole<S>(sum[r][p], to.y + r * to.stride + p * kWidth, to.first);
      });
    });
  } else {
    typename S::Pair spilled[R][P];  // a copy, so that `sum` itself need not have an address
    unrolled<R>([&](auto r) __attribute__((always_inline)) {
      unrolled<P>([&](auto p) __attribute__((always_inline)) { spilled[r][p] = sum[r][p]; });
    });
    for (int r = 0; r < R; ++r) {
      for (int p = 0; p < P; ++p) {
        put_part<S>(spilled[r][p], to.y + r * to.stride + p * kWidth, to.first,
                    std::min(kWidth, to.columns - p * kWidth));
      }
    }
  }
}

}  // namespace octavo::dense_ffn
