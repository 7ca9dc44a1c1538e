#include "common/testing/compare.h"

#include <fmt/format.h>

#include <cmath>

#include "common/base/counted.h"

namespace octavo::testing {

Comparison compare(const float* got, const float* want, std::int64_t n,
                   const Tolerance& tolerance) {
  Comparison c;
  for (std::int64_t i = 0; i < n; ++i) {
    const bool both_finite = std::isfinite(got[i]) && std::isfinite(want[i]);
    const bool same_kind = (std::isnan(got[i]) && std::isnan(want[i])) || got[i] == want[i];
    if (!both_finite && !same_kind) {
      c.worst = i;
      c.message = fmt::format("element {}: got {}, want {}", i, got[i], want[i]);
      return c;
    }
  }
  double error2 = 0, want2 = 0, got2 = 0, product = 0, worst_excess = -1;
  std::int64_t failures = 0, worst_failure = -1;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(want[i])) continue;
    const double g = got[i], w = want[i], error = std::abs(g - w);
    const double limit = tolerance.absolute + tolerance.relative * std::abs(w);
    if (error > c.max_error || c.worst < 0) {
      c.max_error = error;
      c.worst = i;
    }
    if (!(error <= limit)) {
      ++failures;
      if (error - limit > worst_excess) {
        worst_excess = error - limit;
        worst_failure = i;
      }
    }
    error2 += error * error;
    want2 += w * w;
    got2 += g * g;
    product += g * w;
  }
  c.frobenius = want2 > 0 ? std::sqrt(error2 / want2) : std::sqrt(error2);
  c.cosine = want2 > 0 && got2 > 0 ? product / std::sqrt(want2 * got2) : (want2 == got2 ? 1 : 0);
  const std::string figures =
      fmt::format("max error {:.3g}, relative Frobenius error {:.3g}, cosine {:.9f}", c.max_error,
                  c.frobenius, c.cosine);
  if (failures > 0) {
    c.worst = worst_failure;
    c.message =
        fmt::format("{} of {} beyond {} + {} * |want|; worst element {}: got {}, want {}; {}",
                    failures, counted(n, "element"), tolerance.absolute, tolerance.relative,
                    worst_failure, got[worst_failure], want[worst_failure], figures);
  } else if (!(c.frobenius <= tolerance.frobenius)) {
    c.message = fmt::format("relative Frobenius error above {}; {}", tolerance.frobenius, figures);
  } else if (!(c.cosine >= tolerance.cosine)) {
    c.message = fmt::format("cosine below {}; {}", tolerance.cosine, figures);
  } else {
    c.ok = true;
    c.message = figures;
  }
  return c;
}

}  // namespace octavo::testing
