#pragma once
// Loads and stores of 4, 8 or 16 bytes a thread as one access: what a GPU does in one instruction,
// a host compiler may split, so these check their alignment and report themselves.

#include <cstring>

#include "common/simt/cpu/access.h"

namespace octavo::simt {
inline namespace SIMT_FLAVOUR {

// N elements that are loaded and stored together.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T element[N];
  T& operator[](int i) { return element[i]; }
  const T& operator[](int i) const { return element[i]; }
};

// One load of N elements. p is aligned to their size in bytes: 4, 8 or 16.
template <int N, class T>
SIMT_SELF_REPORTING Pack<std::remove_const_t<T>, N> load_pack(const T* p, SIMT_SITE) {
  using Result = Pack<std::remove_const_t<T>, N>;
  static_assert(sizeof(Result) == 4 || sizeof(Result) == 8 || sizeof(Result) == 16);
  require_aligned(p, sizeof(Result), "load_pack", site);
  note_access(AccessKind::kLoad, p, sizeof(Result), site);
  Result result;
  std::memcpy(static_cast<void*>(&result), p, sizeof(Result));
  return result;
}

template <class T, int N>
SIMT_SELF_REPORTING void store_pack(T* p, const Pack<T, N>& value, SIMT_SITE) {
  static_assert(sizeof(value) == 4 || sizeof(value) == 8 || sizeof(value) == 16);
  require_aligned(p, sizeof(value), "store_pack", site);
  note_access(AccessKind::kStore, p, sizeof(value), site);
  std::memcpy(static_cast<void*>(p), &value, sizeof(value));
}

// 16 bytes, the widest there is.
template <class T>
SIMT_SELF_REPORTING Pack<std::remove_const_t<T>, 16 / static_cast<int>(sizeof(T))> load16(
    const T* p, SIMT_SITE) {
  return load_pack<16 / static_cast<int>(sizeof(T))>(p, site);
}
template <class T, int N>
SIMT_SELF_REPORTING void store16(T* p, const Pack<T, N>& value, SIMT_SITE) {
  static_assert(sizeof(value) == 16);
  store_pack(p, value, site);
}

// A load through the read-only path.
template <class T>
SIMT_SELF_REPORTING T __ldg(const T* p, SIMT_SITE) {
  note_access(AccessKind::kLoad, p, sizeof(T), site);
  return *p;
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::simt

using octavo::simt::__ldg;
