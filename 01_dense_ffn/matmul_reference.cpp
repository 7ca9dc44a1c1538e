#include <algorithm>

#include "01_dense_ffn/cast.h"
#include "01_dense_ffn/matmul.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "common/device/overlap.h"

namespace octavo {
namespace {

// One element of equation 1: y = sum_k x_k w_k, k ascending, in double.
template <class T>
float dot(const float* x, const T* w, std::int64_t K) {
  double sum = 0;
  for (std::int64_t k = 0; k < K; ++k) {
    sum += static_cast<double>(x[k]) * static_cast<double>(static_cast<float>(w[k]));
  }
  return static_cast<float>(sum);
}

template <class T>
void product(Exec& exec, View<const float, 2> x, const T* w, View<float, 2> y) {
  const std::int64_t rows = x.extent(0), K = x.extent(1), N = y.extent(1);
  constexpr std::int64_t kStrip = 64;  // output columns a task: enough work to be worth a hand-over
  const std::int64_t strips = (N + kStrip - 1) / kStrip;
  exec.threads.parallel_for(strips, [&](std::int64_t strip) {
    for (std::int64_t t = 0; t < rows; ++t) {
      for (std::int64_t n = strip * kStrip; n < std::min(N, (strip + 1) * kStrip); ++n) {
        y(t, n) = dot(x(t).data(), w + n * K, K);
      }
    }
  });
}

void require_fit(std::int64_t x0, std::int64_t x1, const TensorView& w, View<float, 2> y) {
  require(w.rank() == 2 && x1 == w.extent(1) && y.extent(0) == x0 && y.extent(1) == w.extent(0),
          "matmul: x [{}, {}], weight {}, y [{}, {}] do not fit [T, K] x [N, K] -> [T, N]", x0, x1,
          w.describe(), y.extent(0), y.extent(1));
}

}  // namespace

void check_shapes(const MatmulArgs& a) {
  require(a.x.rank() == 2, "matmul: x is {}, must be [T, K]", a.x.describe());
  require_fit(a.x.extent(0), a.x.extent(1), a.w, a.y);
  require_apart("matmul", {{"y", a.y}}, {{"x", a.x}});
}

void check_shapes(const CastArgs& a) {
  require(a.y.size() == a.x.size(), "cast: {} elements to {}", a.x.size(), a.y.describe());
  require(a.y.dtype() == DType::kBF16, "cast: y is {}, must be BF16", a.y.describe());
  require_apart("cast", {{"y", a.y}}, {{"x", a.x}});
}

void matmul_reference(Exec& exec, View<const float, 2> x, const TensorView& w, View<float, 2> y) {
  require_fit(x.extent(0), x.extent(1), w, y);
  require_apart("matmul", {{"y", y}}, {{"x", x}, {"w", w}});
  switch (w.dtype()) {
    case DType::kF32:
      return product(exec, x, static_cast<const float*>(w.data()), y);
    case DType::kF16:
      return product(exec, x, static_cast<const half*>(w.data()), y);
    case DType::kBF16:
      return product(exec, x, static_cast<const bf16*>(w.data()), y);
  }
}

Work matmul_work(std::int64_t T, std::int64_t N, std::int64_t K, double weight_bytes) {
  const auto t = static_cast<double>(T), n = static_cast<double>(N), k = static_cast<double>(K);
  return {.flops = 2 * t * n * k, .bytes = n * k * weight_bytes + 4 * t * (n + k)};
}

}  // namespace octavo
