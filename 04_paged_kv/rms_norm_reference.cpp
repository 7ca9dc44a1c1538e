#include "04_paged_kv/rms_norm.h"

#include <cmath>

#include "common/base/counted.h"
#include "common/base/error.h"

namespace octavo {

void rms_norm_reference(View<const float, 2> x, std::span<const float> weight, double epsilon,
                        View<float, 2> y) {
  const std::int64_t D = x.extent(1);
  require(std::ssize(weight) == D && y.extents() == x.extents(),
          "RMSNorm: x has {}, the weight {}, y {}; they must agree", counted(D, "column"),
          weight.size(), y.extent(1));
  for (std::int64_t t = 0; t < x.extent(0); ++t) {
    double squares = 0;
    for (std::int64_t d = 0; d < D; ++d)
      squares += static_cast<double>(x(t, d)) * static_cast<double>(x(t, d));
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(D) + epsilon);
    for (std::int64_t d = 0; d < D; ++d) {
      y(t, d) = static_cast<float>(static_cast<double>(x(t, d)) * scale *
                                   static_cast<double>(weight[static_cast<std::size_t>(d)]));
    }
  }
}

}  // namespace octavo
