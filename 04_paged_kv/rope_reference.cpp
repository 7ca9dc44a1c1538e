#include "04_paged_kv/rope.h"

#include <cmath>

#include "common/base/counted.h"
#include "common/base/error.h"

namespace octavo {

void rope_reference(View<float, 3> x, std::span<const std::int64_t> position, double theta,
                    RopePairing pairing) {
  const std::int64_t T = x.extent(0), H = x.extent(1), Dh = x.extent(2);
  require(Dh % 2 == 0, "RoPE: the head width is {}, must be even", Dh);
  require(std::ssize(position) == T, "RoPE: {} for {}", counted(position.size(), "position"),
          counted(T, "row"));
  const bool halves = pairing == RopePairing::kHalves;
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t i = 0; i < Dh / 2; ++i) {
      const double frequency =
          std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(Dh));
      const double angle = static_cast<double>(position[static_cast<std::size_t>(t)]) * frequency;
      const double c = std::cos(angle), s = std::sin(angle);
      const std::int64_t first = halves ? i : 2 * i, second = halves ? i + Dh / 2 : 2 * i + 1;
      for (std::int64_t h = 0; h < H; ++h) {
        const double a = x(t, h, first), b = x(t, h, second);
        x(t, h, first) = static_cast<float>(a * c - b * s);
        x(t, h, second) = static_cast<float>(b * c + a * s);
      }
    }
  }
}

}  // namespace octavo
