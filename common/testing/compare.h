#pragma once
// How a result is judged against a reference. The rules, in this order: the masks of non-finite
// values are equal; then |got - want| <= absolute + relative * |want| everywhere, in the form that
// a NaN cannot pass; the relative Frobenius error and the cosine are reported always and bounded
// where a bound is given.

#include <cstdint>
#include <limits>
#include <string>

#include "common/base/view.h"

namespace octavo::testing {

struct Tolerance {
  double absolute = 0;
  double relative = 0;
  double frobenius = std::numeric_limits<double>::infinity();  // bound on ||got - want|| / ||want||
  double cosine = -1;                                          // bound from below
};

struct Comparison {
  bool ok = false;
  double max_error = 0;     // largest |got - want| over the finite elements
  std::int64_t worst = -1;  // its flat index; or that of the first element whose finiteness differs
  double frobenius = 0;     // relative Frobenius error over the finite elements
  double cosine = 1;
  std::string message;  // what failed, where, with both values; or one line of figures when ok

  explicit operator bool() const { return ok; }
};

// Compares n elements. Infinities must agree in sign; NaN agrees with NaN.
Comparison compare(const float* got, const float* want, std::int64_t n, const Tolerance& tolerance);

template <class A, class B, int R>
Comparison compare(View<A, R> got, View<B, R> want, const Tolerance& tolerance) {
  if (got.extents() != want.extents()) {
    Comparison c;
    c.message = "the shapes differ";
    return c;
  }
  return compare(got.data(), want.data(), got.size(), tolerance);
}

}  // namespace octavo::testing
