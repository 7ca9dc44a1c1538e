#pragma once
// Shuffles, votes, reductions, match, __syncwarp. The last lane to arrive computes for all:
// `combine` gets every lane's operands and writes every lane's result.

#include "common/simt/backend.h"
#include "common/simt/cpu/keywords.h"
#include "common/simt/cpu/runtime.h"

namespace octavo::simt {
inline namespace SIMT_FLAVOUR {

inline constexpr std::uint32_t kFullMask = 0xffffffffu;

enum class ShuffleKind { kIndex, kUp, kDown, kXor };

// The lane that `lane` reads, by the pseudocode of PTX shfl.sync: a segment is `width` lanes, and a
// source outside it is replaced by the lane itself (kUp, kDown; kXor only above the segment).
template <ShuffleKind K>
constexpr int shuffle_source(int lane, int operand, int width) {
  const int first = lane & ~(width - 1), last = first + width - 1;
  if constexpr (K == ShuffleKind::kIndex) return first | (operand & (width - 1));
  if constexpr (K == ShuffleKind::kUp) return lane - operand < first ? lane : lane - operand;
  if constexpr (K == ShuffleKind::kDown) return lane + operand > last ? lane : lane + operand;
  return (lane ^ operand) > last ? lane : lane ^ operand;
}

template <class T, ShuffleKind K>
SIMT_UNSEEN void combine_shuffle(cpu::Lanes& lanes) {
  for (int lane = 0; lane < 32; ++lane) {
    if (!(lanes.mask >> lane & 1)) continue;
    const cpu::WarpOp& op = *lanes.op[lane];
    const int source = shuffle_source<K>(lane, op.a, op.b);
    if (!(lanes.mask >> source & 1)) {
      cpu::fail(
          {op.name, ": lane ", lane, " reads lane ", source, ", which is not among the lanes ",
           cpu::Piece::hex(lanes.mask, 8), " that do this operation"},
          op.site);
    }
    __builtin_memcpy(op.out, lanes.op[source]->in, sizeof(T));
  }
}

template <class T, ShuffleKind K>
T shuffle(std::uint32_t mask, T value, int operand, int width, const char* name,
          cpu::CallSite site) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "shuffles move at most 8 bytes");
  if (width < 1 || width > 32 || (width & (width - 1)) != 0) {
    cpu::fail({name, ": width is ", width, ", must be 1, 2, 4, 8, 16 or 32"}, site);
  }
  operand &= 31;  // as PTX: bval = b[4:0]
  T result;
  cpu::WarpOp op{combine_shuffle<T, K>,
                 cpu::WarpKind::kShuffle,
                 mask,
                 name,
                 site,
                 &value,
                 &result,
                 operand,
                 width,
                 nullptr};
  cpu::warp_op(op);
  return result;
}

SIMT_UNSEEN inline void combine_ballot(cpu::Lanes& lanes) {
  std::uint32_t set = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (lanes.mask >> lane & 1) set |= std::uint32_t{lanes.op[lane]->a != 0} << lane;
  }
  for (int lane = 0; lane < 32; ++lane) {
    if (lanes.mask >> lane & 1) *static_cast<std::uint32_t*>(lanes.op[lane]->out) = set;
  }
}

inline std::uint32_t ballot(std::uint32_t mask, bool predicate, const char* name,
                            cpu::CallSite site) {
  std::uint32_t result = 0;
  cpu::WarpOp op{
      combine_ballot, cpu::WarpKind::kVote, mask, name, site, nullptr, &result, predicate, 0,
      nullptr};
  cpu::warp_op(op);
  return result;
}

struct Plus {
  template <class T>
  SIMT_UNSEEN T operator()(T a, T b) const {  // wraps, as the hardware does
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                          static_cast<std::make_unsigned_t<T>>(b));
  }
};
struct Maximum {
  template <class T>
  SIMT_UNSEEN T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct Minimum {
  template <class T>
  SIMT_UNSEEN T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

template <class T, class Op>
SIMT_UNSEEN void combine_reduce(cpu::Lanes& lanes) {
  T sum{};
  bool first = true;
  for (int lane = 0; lane < 32; ++lane) {
    if (!(lanes.mask >> lane & 1)) continue;
    T value;
    __builtin_memcpy(&value, lanes.op[lane]->in, sizeof(T));
    sum = first ? value : Op()(sum, value);
    first = false;
  }
  for (int lane = 0; lane < 32; ++lane) {
    if (lanes.mask >> lane & 1) __builtin_memcpy(lanes.op[lane]->out, &sum, sizeof(T));
  }
}

template <class T, class Op>
T reduce(std::uint32_t mask, T value, const char* name, cpu::CallSite site) {
  static_assert(std::is_same_v<T, int> || std::is_same_v<T, unsigned>,
                "__reduce_*_sync takes int and unsigned; reduce floats with shuffles");
  T result;
  cpu::WarpOp op{combine_reduce<T, Op>,
                 cpu::WarpKind::kReduce,
                 mask,
                 name,
                 site,
                 &value,
                 &result,
                 0,
                 0,
                 nullptr};
  cpu::warp_op(op);
  return result;
}

// Not compared by memcmp: the thread sanitizer watches the calls of the C library, whoever makes
// them.
template <class T>
SIMT_UNSEEN std::uint64_t bits_of_operand(const cpu::WarpOp& op) {
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, op.in, sizeof(T));
  return bits;
}

template <class T>
SIMT_UNSEEN void combine_match(cpu::Lanes& lanes) {
  for (int lane = 0; lane < 32; ++lane) {
    if (!(lanes.mask >> lane & 1)) continue;
    const std::uint64_t bits = bits_of_operand<T>(*lanes.op[lane]);
    std::uint32_t same = 0;
    for (int other = 0; other < 32; ++other) {
      if (!(lanes.mask >> other & 1)) continue;
      const bool equal = bits_of_operand<T>(*lanes.op[other]) == bits;
      same |= std::uint32_t{equal} << other;
    }
    *static_cast<std::uint32_t*>(lanes.op[lane]->out) = same;
  }
}

SIMT_UNSEEN inline void combine_nothing(cpu::Lanes&) {}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::simt

// ---- CUDA's names. int and unsigned results are CUDA's, too.
namespace octavo::simt {
inline namespace SIMT_FLAVOUR {

inline void __syncwarp(std::uint32_t mask = kFullMask, SIMT_SITE) {
  cpu::WarpOp op{
      combine_nothing, cpu::WarpKind::kSync, mask, "__syncwarp", site, nullptr, nullptr, 0, 0,
      nullptr};
  cpu::warp_op(op);
}

#define SIMT_SHUFFLE(NAME, KIND, OPERAND)                                                      \
  template <class T>                                                                           \
  T NAME(std::uint32_t mask, T value, OPERAND operand, int width = 32, SIMT_SITE) {            \
    return shuffle<T, ShuffleKind::KIND>(mask, value, static_cast<int>(operand), width, #NAME, \
                                         site);                                                \
  }
SIMT_SHUFFLE(__shfl_sync, kIndex, int)
SIMT_SHUFFLE(__shfl_up_sync, kUp, unsigned)
SIMT_SHUFFLE(__shfl_down_sync, kDown, unsigned)
SIMT_SHUFFLE(__shfl_xor_sync, kXor, int)
#undef SIMT_SHUFFLE

inline unsigned __ballot_sync(std::uint32_t mask, int predicate, SIMT_SITE) {
  return ballot(mask, predicate != 0, "__ballot_sync", site);
}
inline int __any_sync(std::uint32_t mask, int predicate, SIMT_SITE) {
  return ballot(mask, predicate != 0, "__any_sync", site) != 0;
}
inline int __all_sync(std::uint32_t mask, int predicate, SIMT_SITE) {
  return ballot(mask, predicate == 0, "__all_sync", site) == 0;
}

template <class T>
T __reduce_add_sync(std::uint32_t mask, T value, SIMT_SITE) {
  return reduce<T, Plus>(mask, value, "__reduce_add_sync", site);
}
template <class T>
T __reduce_max_sync(std::uint32_t mask, T value, SIMT_SITE) {
  return reduce<T, Maximum>(mask, value, "__reduce_max_sync", site);
}
template <class T>
T __reduce_min_sync(std::uint32_t mask, T value, SIMT_SITE) {
  return reduce<T, Minimum>(mask, value, "__reduce_min_sync", site);
}

// The lanes of `mask` whose value has the same bits as the caller's.
template <class T>
unsigned __match_any_sync(std::uint32_t mask, T value, SIMT_SITE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "match compares 4 or 8 bytes");
  std::uint32_t result = 0;
  cpu::WarpOp op{combine_match<T>,
                 cpu::WarpKind::kMatch,
                 mask,
                 "__match_any_sync",
                 site,
                 &value,
                 &result,
                 0,
                 0,
                 nullptr};
  cpu::warp_op(op);
  return result;
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::simt

using octavo::simt::__all_sync;
using octavo::simt::__any_sync;
using octavo::simt::__ballot_sync;
using octavo::simt::__match_any_sync;
using octavo::simt::__reduce_add_sync;
using octavo::simt::__reduce_max_sync;
using octavo::simt::__reduce_min_sync;
using octavo::simt::__shfl_down_sync;
using octavo::simt::__shfl_sync;
using octavo::simt::__shfl_up_sync;
using octavo::simt::__shfl_xor_sync;
using octavo::simt::__syncwarp;
