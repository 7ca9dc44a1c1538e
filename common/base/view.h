#pragma once
// View<T, R>: a pointer and R extents, row-major and contiguous. It borrows; it never owns.

#include <array>
#include <cassert>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace octavo {

template <class T, int R>
class View {
 public:
  using Extents = std::array<std::int64_t, R>;

  View() = default;
  View(T* data, Extents extents) : data_(data), extents_(extents) {}
  // A whole vector seen with these extents; their product must be its size.
  template <class U, class = std::enable_if_t<std::is_convertible_v<U (*)[], T (*)[]>>>
  View(std::vector<U>& v, Extents extents) : View(v.data(), extents) {
    assert(size() == static_cast<std::int64_t>(v.size()));
  }
  template <class U, class = std::enable_if_t<std::is_convertible_v<const U (*)[], T (*)[]>>>
  View(const std::vector<U>& v, Extents extents) : View(v.data(), extents) {
    assert(size() == static_cast<std::int64_t>(v.size()));
  }
  // A template only so that View<const T, R> has none: nvcc warns of a conversion to itself.
  template <class U, class = std::enable_if_t<std::is_same_v<U, const T> && !std::is_const_v<T>>>
  operator View<U, R>() const {
    return {data_, extents_};
  }

  T* data() const { return data_; }
  std::int64_t extent(int axis) const { return extents_[static_cast<std::size_t>(axis)]; }
  const Extents& extents() const { return extents_; }
  std::int64_t size() const {
    std::int64_t n = 1;
    for (std::int64_t e : extents_) n *= e;
    return n;
  }

  // One element for R indices, a View of the remaining axes for fewer.
  template <class... I>
  decltype(auto) operator()(I... index) const {
    constexpr int n = sizeof...(I);
    static_assert(n >= 1 && n <= R);
    std::int64_t offset = 0;
    int axis = 0;
    ((assert(index >= 0 && index < extent(axis)), offset = offset * extent(axis++) + index), ...);
    if constexpr (n == R) {
      return static_cast<T&>(data_[offset]);
    } else {
      std::array<std::int64_t, R - n> rest;
      for (int a = n; a < R; ++a) {
        rest[static_cast<std::size_t>(a - n)] = extent(a);
        offset *= extent(a);
      }
      return View<T, R - n>(data_ + offset, rest);
    }
  }

  // Rows [begin, end) of the first axis.
  View rows(std::int64_t begin, std::int64_t end) const {
    assert(begin >= 0 && begin <= end && end <= extent(0));
    Extents extents = extents_;
    extents[0] = end - begin;
    const std::int64_t row = extent(0) == 0 ? 0 : size() / extent(0);
    return {data_ + begin * row, extents};
  }

 private:
  T* data_ = nullptr;
  Extents extents_{};
};

}  // namespace octavo
