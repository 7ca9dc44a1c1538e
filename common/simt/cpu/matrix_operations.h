#pragma once
// ldmatrix and mma.sync, the tensor cores' instructions, as operations of a whole warp. Which lane
// holds which element is PTX's table (ISA, "Matrix Fragments for mma.m16n8k16"); with group g =
// lane / 4 and thread t = lane % 4, element pairs lie in the halves of one register, lower column
// first:
//
//   A 16 x 16   a[0]: row g, columns 2t and 2t+1   a[1]: row g + 8    a[2], a[3]: the same, columns
//   + 8 B 16 x 8    b[0]: rows 2t and 2t+1, column g   b[1]: rows + 8 C, D 16 x 8 c[0], c[1]: row
//   g, columns 2t and 2t+1               c[2], c[3]: row g + 8

#include "common/simt/cpu/access.h"
#include "common/simt/cpu/number_types.h"
#include "common/simt/cpu/thread_index.h"
#include "common/simt/cpu/warp_operations.h"

namespace octavo::simt {
inline namespace SIMT_FLAVOUR {

struct MmaOperands {  // of one lane
  std::uint32_t a[4], b[2];
  float c[4];
};

template <class T>
SIMT_UNSEEN inline float half_of(std::uint32_t pair, int upper) {
  if constexpr (std::is_same_v<T, bf16>) {
    return __builtin_bit_cast(float, upper ? pair & 0xffff0000u : pair << 16);
  } else {
    const auto bits = static_cast<std::uint16_t>(upper ? pair >> 16 : pair & 0xffffu);
    T value;
    __builtin_memcpy(static_cast<void*>(&value), &bits, 2);
    return to_float(value);
  }
}

// Collects the fragments of 32 lanes into A [16, 16] and B transposed [8, 16].
template <class T>
SIMT_UNSEEN void gather_fragments(const cpu::Lanes& lanes, float (&a)[16][16], float (&bt)[8][16]) {
  for (int lane = 0; lane < 32; ++lane) {
    const MmaOperands& x = *static_cast<const MmaOperands*>(lanes.op[lane]->in);
    const int g = lane >> 2, t = lane & 3;
    for (int h = 0; h < 2; ++h) {
      a[g][t * 2 + h] = half_of<T>(x.a[0], h);
      a[g + 8][t * 2 + h] = half_of<T>(x.a[1], h);
      a[g][t * 2 + 8 + h] = half_of<T>(x.a[2], h);
      a[g + 8][t * 2 + 8 + h] = half_of<T>(x.a[3], h);
      bt[g][t * 2 + h] = half_of<T>(x.b[0], h);
      bt[g][t * 2 + 8 + h] = half_of<T>(x.b[1], h);
    }
  }
}

// D = A B + C in float: the 16 products in order of k, then C. Tensor cores round elsewhere, so
// results on a GPU differ in the last bits.
template <class T>
SIMT_UNSEEN void combine_mma(cpu::Lanes& lanes) {
  float a[16][16], bt[8][16];
  gather_fragments<T>(lanes, a, bt);
  for (int lane = 0; lane < 32; ++lane) {
    const MmaOperands& x = *static_cast<const MmaOperands*>(lanes.op[lane]->in);
    float* d = static_cast<float*>(lanes.op[lane]->out);
    const int g = lane >> 2, t = lane & 3;
    for (int i = 0; i < 4; ++i) {
      const float* row = a[g + (i >> 1) * 8];
      const float* column = bt[t * 2 + (i & 1)];
      float sum = 0;
      for (int k = 0; k < 16; ++k) sum += row[k] * column[k];
      d[i] = x.c[i] + sum;
    }
  }
}

template <class T>
void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                  const float (&c)[4], const char* name, cpu::CallSite site) {
  const MmaOperands in{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}, {c[0], c[1], c[2], c[3]}};
  float out[4];
  cpu::WarpOp op{
      combine_mma<T>, cpu::WarpKind::kMma, kFullMask, name, site, &in, out, 2 * 16 * 8 * 16, 0,
      nullptr};  // a: FLOPs
  cpu::warp_op(op);
  for (int i = 0; i < 4; ++i) d[i] = out[i];
}

// D [16, 8] = A [16, 16] (row) x B [16, 8] (col) + C; all 32 lanes of a warp.
inline void mma_m16n8k16_bf16(float (&d)[4], const std::uint32_t (&a)[4],
                              const std::uint32_t (&b)[2], const float (&c)[4], SIMT_SITE) {
  mma_m16n8k16<bf16>(d, a, b, c, "mma_m16n8k16_bf16", site);
}
inline void mma_m16n8k16_f16(float (&d)[4], const std::uint32_t (&a)[4],
                             const std::uint32_t (&b)[2], const float (&c)[4], SIMT_SITE) {
  mma_m16n8k16<half>(d, a, b, c, "mma_m16n8k16_f16", site);
}

struct MatrixRow {  // 8 elements of 16 bits
  std::uint16_t element[8];
};

// Lane l receives elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4 of each 8 x 8 matrix;
// transposed, of column l / 4.
template <int Count, bool Transposed>
SIMT_UNSEEN void combine_ldmatrix(cpu::Lanes& lanes) {
  for (int lane = 0; lane < 32; ++lane) {
    std::uint32_t* r = static_cast<std::uint32_t*>(lanes.op[lane]->out);
    for (int m = 0; m < Count; ++m) {
      std::uint32_t pair = 0;
      for (int h = 0; h < 2; ++h) {
        const int major = lane >> 2, minor = (lane & 3) * 2 + h;
        const int row = Transposed ? minor : major, column = Transposed ? major : minor;
        const auto* from = static_cast<const MatrixRow*>(lanes.op[m * 8 + row]->in);
        pair |= std::uint32_t{from->element[column]} << (16 * h);
      }
      r[m] = pair;
    }
  }
}

// Lane l < 8 Count brings the address of row l % 8 of matrix l / 8: 16 bytes, aligned, in shared
// memory.
template <int Count, bool Transposed>
SIMT_SELF_REPORTING void ldmatrix(std::uint32_t (&r)[Count], const void* row, const char* name,
                                  cpu::CallSite site) {
  MatrixRow in{};
  if (static_cast<int>(lane_index()) < 8 * Count) {
    require_aligned(row, 16, name, site);
    if (!cpu::in_shared_memory(row)) {
      cpu::fail({name, ": the row's address is not in shared memory"}, site);
    }
    note_access(AccessKind::kLdmatrix, row, 16, site);
    const auto* p =
        static_cast<const std::uint16_t*>(row);  // the lane that brings the address reads
    for (int i = 0; i < 8; ++i) in.element[i] = p[i];
  }
  std::uint32_t out[Count];
  cpu::WarpOp op{combine_ldmatrix<Count, Transposed>,
                 cpu::WarpKind::kLdmatrix,
                 kFullMask,
                 name,
                 site,
                 &in,
                 out,
                 0,
                 0,
                 nullptr};
  cpu::warp_op(op);
  for (int i = 0; i < Count; ++i) r[i] = out[i];
}

#define SIMT_LDMATRIX(NAME, COUNT, TRANSPOSED)                             \
  inline void NAME(std::uint32_t(&r)[COUNT], const void* row, SIMT_SITE) { \
    ldmatrix<COUNT, TRANSPOSED>(r, row, #NAME, site);                      \
  }
SIMT_LDMATRIX(ldmatrix_x1, 1, false)
SIMT_LDMATRIX(ldmatrix_x2, 2, false)
SIMT_LDMATRIX(ldmatrix_x4, 4, false)
SIMT_LDMATRIX(ldmatrix_x1_trans, 1, true)
SIMT_LDMATRIX(ldmatrix_x2_trans, 2, true)
SIMT_LDMATRIX(ldmatrix_x4_trans, 4, true)
#undef SIMT_LDMATRIX

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::simt
