#pragma once
// PackedMatrix: a weight [N, K] rearranged once, at load, into panels of 2 S::kLanes outputs,
// [K][outputs]: a row of it fills two vectors. A panel follows the other in memory, so that a
// product of few rows reads streams that are as long as they can be. fp32 stays fp32, bf16 stays
// bf16 and is unpacked on the way into the sums.
//
// Reduction order, for every output, whatever the rows, threads and vectors: in a block of kBlockK
// terms a chain of fused multiply-adds from 0 with k ascending; then the blocks, in order. A row's
// bits are its own.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "01_dense_ffn/packed_kernel.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/base/view.h"
#include "common/device/buffer.h"
#include "common/device/tensor.h"

namespace octavo::dense_ffn {

inline constexpr std::int64_t kStrip = 128;  // outputs: what a thread takes at a time, at least
inline constexpr std::int64_t kGroup = 3;    // strips that share a copy of a block of x
// Rows of a block of x, 60 KiB, that stay in the second-level cache while the panels of a group
// pass, beside their sums, 180 KiB, and the rows' next block.
inline constexpr std::int64_t kRowBlock = 120;
// Up to here reading the weights is what costs: they go from memory straight into the sums. Beyond,
// a panel of bf16 is first unpacked to fp32, once for kRowBlock rows.
inline constexpr std::int64_t kFewRows = 16;

struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

// Rows of which the next block will be wanted: asks for them in equal shares.
struct RowsAhead {
  const float* at = nullptr;
  std::int64_t row = 0;  // elements between rows
  std::int64_t rows = 0;
  std::int64_t asked = 0;  // lines

  void ask(std::int64_t shares) {
    constexpr std::int64_t kFloats = kLine / 4, kLines = kBlockK / kFloats;
    const std::int64_t lines = rows * kLines;
    const std::int64_t end = std::min(lines, asked + (lines + shares - 1) / shares);
    for (; asked < end; ++asked) {
      simd::prefetch(at + asked / kLines * row + asked % kLines * kFloats);
    }
  }
};

template <class S = simd::Native>
class PackedMatrix {
 public:
  // w [N, K] in fp32 or bf16, in host memory. Throws Error for another type, rank or an empty one.
  explicit PackedMatrix(const TensorView& w);

  std::int64_t outputs() const { return outputs_; }  // N
  std::int64_t inputs() const { return inputs_; }    // K
  std::int64_t strips() const { return (outputs_ + kStrip - 1) / kStrip; }
  // The outputs of some strips.
  Range columns(Range strips) const {
    return {strips.begin * kStrip, std::min(outputs_, strips.end * kStrip)};
  }

  // y[t, n] = sum_k x[t, k] w[n, k] for all rows of x [T, K] and y [T, N] and the outputs of some
  // strips. On the calling thread; takes 260 KiB of its stack.
  void product(View<const float, 2> x, View<float, 2> y, Range strips) const;

 private:
  static constexpr std::int64_t kWidth = 2 * S::kLanes;
  static_assert(kStrip % kWidth == 0);

  template <class W>
  void pack(const W* w);
  template <class W>
  void few_rows(View<const float, 2> x, View<float, 2> y, Range panels) const;
  template <class W, int P>
  std::int64_t few_rows_by(View<const float, 2> x, View<float, 2> y, Range panels) const;
  template <class W>
  void many_rows(View<const float, 2> x, View<float, 2> y, Range panels) const;
  template <class W>
  void row_block(View<const float, 2> x, View<float, 2> y, Range panels) const;
  template <class W>
  void panel_block(const Tile<W>& block, std::int64_t count, const Sums& to, RowsAhead& ahead,
                   std::int64_t shares) const;
  // y[t, n] of some panels from sums [panels][rows of y][kWidth].
  void put_sums(const float* sums, View<float, 2> y, Range panels) const;

  std::int64_t panels() const { return (outputs_ + kWidth - 1) / kWidth; }
  template <class W>
  const W* panel(std::int64_t p) const {
    return reinterpret_cast<const W*>(memory_.data()) + p * kWidth * inputs_;
  }

  DType dtype_;
  std::int64_t outputs_ = 0, inputs_ = 0;
  DeviceBuffer<std::byte> memory_;
};

// Calls body(rows, strips) for tiles that together are [T] x [strips], spread over the threads.
template <class Body>
void for_each_tile(ThreadPool& threads, std::int64_t T, std::int64_t strips, const Body& body);

template <class S>
PackedMatrix<S>::PackedMatrix(const TensorView& w) : dtype_(w.dtype()) {
  require(w.rank() == 2 && w.size() > 0 && dtype_ != DType::kF16,
          "packed matrix: the weight is {}, must be F32 or BF16 [N, K] and not empty",
          w.describe());
  outputs_ = w.extent(0);
  inputs_ = w.extent(1);
  memory_ = DeviceBuffer<std::byte>(cpu_device(), panels() * kWidth * inputs_ * bytes_of(dtype_));
  if (dtype_ == DType::kF32) {
    pack(static_cast<const float*>(w.data()));
  } else {
    pack(static_cast<const bf16*>(w.data()));
  }
}

template <class S>
template <class W>
void PackedMatrix<S>::pack(const W* w) {
  W* to = reinterpret_cast<W*>(memory_.data());
  for (std::int64_t p = 0; p < panels(); ++p, to += kWidth * inputs_) {
    for (std::int64_t i = 0; i < kWidth; ++i) {
      const std::int64_t n = p * kWidth + i;
      W* const column = to + simd::lane_of_pair<W>(static_cast<int>(i), S::kLanes);
      for (std::int64_t k = 0; k < inputs_; ++k) {
        column[k * kWidth] = n < outputs_ ? w[n * inputs_ + k] : W(0.0f);
      }
    }
  }
}

template <class S>
void PackedMatrix<S>::product(View<const float, 2> x, View<float, 2> y, Range strips) const {
  require(x.extent(1) == inputs_ && y.extent(0) == x.extent(0) && y.extent(1) == outputs_,
          "packed product: x [{}, {}] and y [{}, {}] do not fit a weight [{}, {}]", x.extent(0),
          x.extent(1), y.extent(0), y.extent(1), outputs_, inputs_);
  if (x.extent(0) == 0) return;
  constexpr std::int64_t kEach = kStrip / kWidth;
  const Range some = {strips.begin * kEach, std::min(panels(), strips.end * kEach)};
  const auto as = [&]<class W>(W) {
    if (x.extent(0) <= kFewRows) return few_rows<W>(x, y, some);
    many_rows<W>(x, y, some);
  };
  if (dtype_ == DType::kF32) return as(float{});
  as(bf16{});
}

template <class S>
void PackedMatrix<S>::put_sums(const float* sums, View<float, 2> y, Range panels) const {
  const std::int64_t T = y.extent(0), whole = std::min(panels.end, outputs_ / kWidth);
  for (std::int64_t t = 0; t < T; ++t) {
    const float* from = sums + t * kWidth;
    float* to = y.data() + t * outputs_ + panels.begin * kWidth;
    for (std::int64_t p = panels.begin; p < whole; ++p, from += T * kWidth, to += kWidth) {
      put_pair<S>(S::load_pair(from), to, true);
    }
    for (std::int64_t i = 0; whole < panels.end && i < outputs_ % kWidth; ++i) to[i] = from[i];
  }
}

// One pass over the weights: more panels at a time the fewer the rows, since one chain for each
// would wait for itself.
template <class S>
template <class W>
void PackedMatrix<S>::few_rows(View<const float, 2> x, View<float, 2> y, Range panels) const {
  const std::int64_t T = x.extent(0);
  if (T <= kMostRows<S, 4>) panels.begin = few_rows_by<W, 4>(x, y, panels);
  if (T <= kMostRows<S, 2>) panels.begin = few_rows_by<W, 2>(x, y, panels);
  few_rows_by<W, 1>(x, y, panels);
}

// P panels at a time, as often as they fit; gives the first panel that is left.
template <class S>
template <class W, int P>
std::int64_t PackedMatrix<S>::few_rows_by(View<const float, 2> x, View<float, 2> y,
                                          Range panels) const {
  constexpr auto& kKernels = kPanelKernels<S, P, true, W>;
  const std::int64_t T = x.extent(0), tiles = (T + kMostRows<S, P> - 1) / kMostRows<S, P>;
  alignas(64) float sums[P * kFewRows * kWidth];
  for (; panels.size() >= P; panels.begin += P) {
    const W* w = panel<W>(panels.begin);
    for (std::int64_t k0 = 0; k0 < inputs_; k0 += kBlockK, w += kBlockK * kWidth) {
      const std::int64_t length = std::min(kBlockK, inputs_ - k0);
      // Every tile asks for its share of the block behind this one: a core's own prefetcher sees
      // many tiles as many streams, and starts each of them late.
      const std::int64_t share = kBlockK * kWidth / tiles;
      for (std::int64_t i = 0; i < tiles; ++i) {
        const std::int64_t r = i * T / tiles, R = (i + 1) * T / tiles - r;
        kKernels[static_cast<std::size_t>(R - 1)](
            {&x(r, k0), inputs_, w, kWidth * inputs_, length},
            {sums + r * kWidth, T * kWidth, k0 == 0},
            {reinterpret_cast<const char*>(w + kBlockK * kWidth + i * share),
             kWidth * inputs_ * static_cast<std::int64_t>(sizeof(W)),
             kWidth * static_cast<std::int64_t>(sizeof(W)) / tiles});
      }
    }
    put_sums(sums, y, {panels.begin, panels.begin + P});
  }
  return panels.begin;
}

template <class S>
template <class W>
void PackedMatrix<S>::many_rows(View<const float, 2> x, View<float, 2> y, Range panels) const {
  constexpr std::int64_t kEach = kGroup * kStrip / kWidth;
  for (std::int64_t t = 0; t < x.extent(0); t += kRowBlock) {
    const std::int64_t end = std::min(x.extent(0), t + kRowBlock);
    for (std::int64_t p = panels.begin; p < panels.end; p += kEach) {
      row_block<W>(x.rows(t, end), y.rows(t, end), {p, std::min(panels.end, p + kEach)});
    }
  }
}

// kRowBlock rows and kGroup strips, at most. The sums stay here, side by side, until they are
// complete: rows of y a power of two apart would share few sets of the caches, and so would rows of
// x, which are copied, one block of k at a time.
template <class S>
template <class W>
void PackedMatrix<S>::row_block(View<const float, 2> x, View<float, 2> y, Range panels) const {
  alignas(64) float rows[kRowBlock * kBlockK], sums[kRowBlock * kGroup * kStrip];
  const std::int64_t count = x.extent(0);
  for (std::int64_t k0 = 0; k0 < inputs_; k0 += kBlockK) {
    const std::int64_t length = std::min(kBlockK, inputs_ - k0);
    for (std::int64_t r = 0; r < count; ++r) std::copy_n(&x(r, k0), length, rows + r * kBlockK);
    RowsAhead ahead = {x.data() + k0 + kBlockK, inputs_, k0 + kBlockK < inputs_ ? count : 0};
    for (std::int64_t p = panels.begin; p < panels.end; ++p) {
      float* const to = sums + (p - panels.begin) * count * kWidth;
      panel_block<W>({rows, kBlockK, panel<W>(p) + k0 * kWidth, 0, length}, count, {to, 0, k0 == 0},
                     ahead, panels.size());
    }
  }
  put_sums(sums, y, panels);
}

// One panel, one block of k, all rows of a block. Meanwhile it asks for what comes next, a little
// with each tile, so that nobody has to wait: the same block of the next panel, and a share of the
// rows' next block.
template <class S>
template <class W>
void PackedMatrix<S>::panel_block(const Tile<W>& block, std::int64_t count, const Sums& to,
                                  RowsAhead& ahead, std::int64_t shares) const {
  constexpr auto& kKernels = kPanelKernels<S, 1, false, float>;
  const std::int64_t tiles = (count + S::kRows - 1) / S::kRows, size = kWidth * block.length;
  alignas(64) float unpacked[kBlockK * kWidth];
  const float* w = unpacked;
  if constexpr (sizeof(W) == sizeof(float)) {
    w = block.w;
  } else {
    for (std::int64_t k = 0; k < size; k += kWidth) {
      put_pair<S>(S::load_pair(block.w + k), unpacked + k, true);
    }
  }
  const auto* const next = reinterpret_cast<const char*>(block.w + kWidth * inputs_);
  const std::int64_t bytes = size * static_cast<std::int64_t>(sizeof(W));
  for (std::int64_t i = 0; i < tiles; ++i) {
    const std::int64_t r = i * S::kRows, R = std::min<std::int64_t>(count - r, S::kRows);
    for (std::int64_t at = i * bytes / tiles; at < (i + 1) * bytes / tiles; at += kLine) {
      simd::prefetch(next + at);
    }
    ahead.ask(tiles * shares);
    kKernels[static_cast<std::size_t>(R - 1)]({block.x + r * kBlockK, kBlockK, w, 0, block.length},
                                              {to.at + r * kWidth, 0, to.first}, {});
  }
}

template <class Body>
void for_each_tile(ThreadPool& threads, std::int64_t T, std::int64_t strips, const Body& body) {
  const std::int64_t row_blocks = (T + kRowBlock - 1) / kRowBlock;
  // Many strips to a copy of x; but four tasks or more a thread, so that all end together.
  const std::int64_t each =
      T <= kFewRows
          ? 1
          : std::clamp<std::int64_t>(strips * row_blocks / (4 * threads.size()), 1, kGroup);
  const auto task = [&](std::int64_t i) {
    const std::int64_t b = i % row_blocks, s = i / row_blocks * each;
    body(Range{b * T / row_blocks, (b + 1) * T / row_blocks}, Range{s, std::min(strips, s + each)});
  };
  const std::int64_t tasks = row_blocks * ((strips + each - 1) / each);
  threads.parallel_for(tasks, [&task](std::int64_t i) { task(i); });  // fits std::function: no heap
}

extern template class PackedMatrix<simd::Native>;  // in matmul_cpu_v2_packed.cpp

}  // namespace octavo::dense_ffn
