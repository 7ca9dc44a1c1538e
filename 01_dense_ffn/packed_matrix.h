#pragma once
// PackedMatrix: a weight [N, K] rearranged once, at load, into the order in which its product reads
// it. From the outside in:
//   strip   kStrip outputs, what a thread takes at a time
//   block   kBlockK terms of their sums
//   panel   2 S::kLanes outputs, [terms][outputs]: a row of it fills two vectors
// One follows the other in memory, so that a product of few rows reads the matrix from beginning to
// end. fp32 stays fp32, bf16 stays bf16 and is unpacked on the way into the sums.
//
// Reduction order, for every output, whatever the rows, threads and vectors: in a block a chain of
// fused multiply-adds from 0 with k ascending; then the blocks, in order. A row's bits are its own.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "01_dense_ffn/packed_kernel.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/base/view.h"
#include "common/device/buffer.h"
#include "common/device/tensor.h"

namespace octavo::dense_ffn {

inline constexpr std::int64_t kStrip = 128;
// Rows of a block of x, 192 KiB, that stay in the second-level cache while panels pass.
inline constexpr std::int64_t kRowBlock = 192;
// Up to here reading the weights is what costs: they go from memory straight into the sums. Beyond,
// a panel of bf16 is first unpacked to fp32, once for kRowBlock rows.
inline constexpr std::int64_t kFewRows = 16;
// A core's own prefetcher keeps up with four panels side by side, not with one that many rows use.
inline constexpr int kPrefetchAhead = 1024;
template <class W>
inline constexpr std::int64_t kLine = 64 / sizeof(W);  // elements of a cache line

struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
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
  // strips. On the calling thread; takes 210 KiB of its stack.
  void product(View<const float, 2> x, View<float, 2> y, Range strips) const;

 private:
  static constexpr std::int64_t kWidth = 2 * S::kLanes;
  static_assert(kStrip % kWidth == 0);

  template <class W>
  void pack(const W* w);
  template <class W>
  void product_as(View<const float, 2> x, View<float, 2> y, Range strips) const;
  template <class W>
  void strip_block(const float* rows, std::int64_t count, std::int64_t strip, std::int64_t k0,
                   View<float, 2> y) const;

  // Outputs of a strip, with those that fill its last panel.
  std::int64_t width_of(std::int64_t strip) const {
    const std::int64_t n = std::min(kStrip, outputs_ - strip * kStrip);
    return (n + kWidth - 1) / kWidth * kWidth;
  }

  DType dtype_;
  std::int64_t outputs_ = 0, inputs_ = 0;
  DeviceBuffer<std::byte> memory_;
};

// Calls body(rows, strips) for tiles that together are [T] x [strips], spread over the threads.
template <class Body>
void for_each_tile(ThreadPool& threads, std::int64_t T, std::int64_t strips, const Body& body);

// R rows, a run-time number, times P panels.
template <class S, int P, int kAhead, class W>
void multiply_rows(std::int64_t R, const float* x, const W* w, std::int64_t panel,
                   std::int64_t length, const Target& to) {
  constexpr int kMost = P == 1 ? S::kRows : P == 2 ? 3 : 1;
  unrolled<kMost>([&](auto r) {
    if (R == r + 1) multiply_panels<S, r + 1, P, kAhead>(x, w, panel, length, to);
  });
}

template <class S>
PackedMatrix<S>::PackedMatrix(const TensorView& w) : dtype_(w.dtype()) {
  require(w.rank() == 2 && w.size() > 0 && dtype_ != DType::kF16,
          "packed matrix: the weight is {}, must be F32 or BF16 [N, K] and not empty",
          w.describe());
  outputs_ = w.extent(0);
  inputs_ = w.extent(1);
  const std::int64_t padded = (strips() - 1) * kStrip + width_of(strips() - 1);
  memory_ = DeviceBuffer<std::byte>(cpu_device(), padded * inputs_ * bytes_of(dtype_));
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
  for (std::int64_t strip = 0; strip < strips(); ++strip) {
    for (std::int64_t k0 = 0; k0 < inputs_; k0 += kBlockK) {
      const std::int64_t length = std::min(kBlockK, inputs_ - k0);
      for (std::int64_t i = 0; i < width_of(strip); ++i) {
        const std::int64_t n = strip * kStrip + i, panel = i / kWidth;
        const int lane = simd::lane_of_pair<W>(static_cast<int>(i % kWidth), S::kLanes);
        W* const column = to + panel * kWidth * length + lane;
        for (std::int64_t k = 0; k < length; ++k) {
          column[k * kWidth] = n < outputs_ ? w[n * inputs_ + k0 + k] : W(0.0f);
        }
      }
      to += width_of(strip) * length;
    }
  }
}

template <class S>
void PackedMatrix<S>::product(View<const float, 2> x, View<float, 2> y, Range strips) const {
  require(x.extent(1) == inputs_ && y.extent(0) == x.extent(0) && y.extent(1) == outputs_,
          "packed product: x [{}, {}] and y [{}, {}] do not fit a weight [{}, {}]", x.extent(0),
          x.extent(1), y.extent(0), y.extent(1), outputs_, inputs_);
  if (dtype_ == DType::kF32) return product_as<float>(x, y, strips);
  product_as<bf16>(x, y, strips);
}

template <class S>
template <class W>
void PackedMatrix<S>::product_as(View<const float, 2> x, View<float, 2> y, Range strips) const {
  alignas(64) float rows[kRowBlock * kBlockK];
  for (std::int64_t t0 = 0; t0 < x.extent(0); t0 += kRowBlock) {
    const std::int64_t count = std::min(kRowBlock, x.extent(0) - t0);
    for (std::int64_t k0 = 0; k0 < inputs_; k0 += kBlockK) {
      // Rows that lie a power of two apart would share few sets of a cache: they move together.
      const auto bytes = static_cast<std::size_t>(std::min(kBlockK, inputs_ - k0)) * sizeof(float);
      for (std::int64_t r = 0; r < count; ++r) {
        std::memcpy(rows + r * kBlockK, x.data() + (t0 + r) * inputs_ + k0, bytes);
      }
      for (std::int64_t s = strips.begin; s < strips.end; ++s) {
        strip_block<W>(rows, count, s, k0, y.rows(t0, t0 + count));
      }
    }
  }
}

// Adds one block of k to the outputs of one strip.
template <class S>
template <class W>
void PackedMatrix<S>::strip_block(const float* rows, std::int64_t count, std::int64_t strip,
                                  std::int64_t k0, View<float, 2> y) const {
  const std::int64_t length = std::min(kBlockK, inputs_ - k0), width = width_of(strip);
  const W* const block =
      reinterpret_cast<const W*>(memory_.data()) + strip * kStrip * inputs_ + k0 * width;
  const std::int64_t panels = width / kWidth, panel = kWidth * length;
  const std::int64_t tiles = (count + S::kRows - 1) / S::kRows;
  const auto target = [&](std::int64_t row, std::int64_t p) {
    const std::int64_t n = strip * kStrip + p * kWidth;
    return Target{y.data() + row * outputs_ + n, outputs_, outputs_ - n, k0 == 0};
  };
  std::int64_t p = 0;
  if (count == 1) {  // more panels at a time, since one chain for each would wait for itself
    for (; p + 4 <= panels; p += 4) {
      multiply_rows<S, 4, 0>(count, rows, block + p * panel, panel, length, target(0, p));
    }
  }
  if (count <= 3) {
    for (; p + 2 <= panels; p += 2) {
      multiply_rows<S, 2, 0>(count, rows, block + p * panel, panel, length, target(0, p));
    }
  }
  alignas(64) float unpacked[kBlockK * kWidth];
  for (; p < panels; ++p) {
    const W* const packed = block + p * panel;
    const bool unpacks = sizeof(W) < sizeof(float) && count > kFewRows;
    for (std::int64_t k = 0; unpacks && k < length; ++k) {
      const typename S::Pair w = S::load_pair(packed + k * kWidth);
      put_whole<S>(w, unpacked + k * kWidth, true);
    }
    for (std::int64_t i = 0; i < tiles; ++i) {
      const std::int64_t r = i * count / tiles, R = (i + 1) * count / tiles - r;
      const Target to = target(r, p);
      // The next panel, a share with each tile, so that its first tile need not wait for memory.
      const W* const next = packed + panel;
      for (std::int64_t at = i * panel / tiles; at < (i + 1) * panel / tiles; at += kLine<W>) {
        if (count > kFewRows) simd::prefetch(next + at);
      }
      const float* const x = rows + r * kBlockK;
      if (unpacks) {
        multiply_rows<S, 1, 0>(R, x, unpacked, panel, length, to);
      } else if (i == 0) {
        multiply_rows<S, 1, kPrefetchAhead>(R, x, packed, panel, length, to);
      } else {
        multiply_rows<S, 1, 0>(R, x, packed, panel, length, to);
      }
    }
  }
}

template <class Body>
void for_each_tile(ThreadPool& threads, std::int64_t T, std::int64_t strips, const Body& body) {
  const std::int64_t row_blocks = (T + kRowBlock - 1) / kRowBlock;
  // Many strips to a copy of x; but four tasks or more a thread, so that all end together.
  const std::int64_t each =
      T <= kFewRows ? 1
                    : std::clamp<std::int64_t>(strips * row_blocks / (4 * threads.size()), 1, 8);
  const auto task = [&](std::int64_t i) {
    const std::int64_t b = i % row_blocks, s = i / row_blocks * each;
    body(Range{b * T / row_blocks, (b + 1) * T / row_blocks}, Range{s, std::min(strips, s + each)});
  };
  const std::int64_t tasks = row_blocks * ((strips + each - 1) / each);
  threads.parallel_for(tasks, [&task](std::int64_t i) { task(i); });  // fits std::function: no heap
}

extern template class PackedMatrix<simd::Native>;  // in matmul_cpu_v2_packed.cpp

}  // namespace octavo::dense_ffn
