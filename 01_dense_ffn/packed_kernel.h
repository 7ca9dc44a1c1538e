#pragma once
// The inner loops of the packed product: R rows of x times P panels of weights, over one block of
// k. A template over the instruction set S of common/base/simd.h; a panel is 2 S::kLanes outputs.
//
// The sum of an output is the same chain of fused multiply-adds, k ascending from 0, in every
// instantiation: what differs between R and P is how many chains run beside each other.

#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "common/base/simd.h"

namespace octavo::dense_ffn {

// Terms of a sum that are added up before they go to the others: a panel of weights of this length,
// 8 or 16 KiB of fp32, and a tile's rows of x stay in the first-level cache.
inline constexpr std::int64_t kBlockK = 128;

// Where a kernel's sums lie, [P][rows][2 S::kLanes]: the first block of k writes them, the others
// add to them.
struct Sums {
  float* at = nullptr;     // of the first row and panel
  std::int64_t panel = 0;  // elements between panels
  bool first = true;
};

inline constexpr std::int64_t kLine = 64;  // bytes of a cache line

// Memory to ask for while a kernel runs: a piece of each panel, `step` bytes with each k.
struct Ahead {
  const char* at = nullptr;
  std::int64_t panel = 0;  // bytes between the pieces
  std::int64_t step = 0;
};

// f(0), ..., f(N - 1), written out: the indices are constants, so that arrays of sums are
// registers.
template <int N, class F>
[[gnu::always_inline]] inline void unrolled(F f) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, I>{}), ...);
  }
  (std::make_integer_sequence<int, N>{});
}

template <class S>
void put_pair(const typename S::Pair& sum, float* to, bool first) {
  S::store(to, first ? sum.low : S::add(S::load(to), sum.low));
  to += S::kLanes;
  S::store(to, first ? sum.high : S::add(S::load(to), sum.high));
}

// What a kernel works on. x: rows `row` elements apart; w: P panels [length][2 S::kLanes], `panel`
// elements apart.
template <class W>
struct Tile {
  const float* x = nullptr;
  std::int64_t row = 0;
  const W* w = nullptr;
  std::int64_t panel = 0;
  std::int64_t length = 0;
};

// kAsks: whether it asks for memory ahead. Everything in it is inlined: else the sums would live in
// memory.
template <class S, int R, int P, bool kAsks, class W>
[[gnu::noinline]] void multiply_panels(const Tile<W>& tile, const Sums& to, const Ahead& ahead) {
  constexpr std::int64_t kWidth = 2 * S::kLanes;
  constexpr std::int64_t kLines = (kWidth * std::int64_t{sizeof(W)} + kLine - 1) / kLine;
  const float* const x = tile.x;
  const std::int64_t row = tile.row, panel = tile.panel, length = tile.length;
  const W* w = tile.w;
  const char* asked = ahead.at;
  typename S::Pair sum[R][P];
  unrolled<R>([&](auto r) __attribute__((always_inline)) {
    unrolled<P>([&](auto p) __attribute__((always_inline)) {
      sum[r][p] = {S::broadcast(0), S::broadcast(0)};
    });
  });
  for (std::int64_t k = 0; k < length; ++k, w += kWidth) {
    typename S::Pair weights[P];
    unrolled<P>([&](auto p) __attribute__((always_inline)) {
      weights[p] = S::load_pair(w + p * panel);
      if constexpr (kAsks) {
        for (std::int64_t line = 0; line < kLines; ++line) {
          simd::prefetch(asked + p * ahead.panel + line * kLine);
        }
      }
    });
    if constexpr (kAsks) asked += ahead.step;
    unrolled<R>([&](auto r) __attribute__((always_inline)) {
      const typename S::Vec b = S::broadcast(x[r * row + k]);
      unrolled<P>([&](auto p) __attribute__((always_inline)) {
        sum[r][p].low = S::fma(b, weights[p].low, sum[r][p].low);
        sum[r][p].high = S::fma(b, weights[p].high, sum[r][p].high);
      });
    });
  }
  unrolled<R>([&](auto r) __attribute__((always_inline)) {
    unrolled<P>([&](auto p) __attribute__((always_inline)) {
      put_pair<S>(sum[r][p], to.at + p * to.panel + r * kWidth, to.first);
    });
  });
}

// The most rows that P panels side by side leave registers for.
template <class S, int P>
inline constexpr int kMostRows = P == 1   ? S::kRows
                                 : P == 2 ? S::kRows / 2
                                          : 1;

template <class W>
using PanelKernel = void (*)(const Tile<W>&, const Sums&, const Ahead&);

// Entry R - 1 is the kernel of R rows.
template <class S, int P, bool kAsks, class W>
inline constexpr auto kPanelKernels = []<int... I>(std::integer_sequence<int, I...>) {
  return std::array<PanelKernel<W>, sizeof...(I)>{&multiply_panels<S, I + 1, P, kAsks, W>...};
}
(std::make_integer_sequence<int, kMostRows<S, P>>{});

}  // namespace octavo::dense_ffn
