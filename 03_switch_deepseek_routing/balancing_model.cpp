#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "03_switch_deepseek_routing/balancing.h"
#include "03_switch_deepseek_routing/losses.h"
#include "common/base/counted.h"
#include "common/base/error.h"
#include "common/base/philox.h"

namespace octavo::switch_routing {
namespace {

constexpr std::int64_t D = kLabWidth, H = kLabHidden, E = kLabExperts;
constexpr std::int64_t kRouter = E * D, kExpert = 2 * H * D;

enum Stream : std::uint32_t { kCentres, kTeachers, kInit, kCluster, kNoise };

std::array<std::uint32_t, 4> bits(const LabSettings& s, Stream stream, std::int64_t i) {
  return philox({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), stream,
                 static_cast<std::uint32_t>(Purpose::kTest) << 16},
                {static_cast<std::uint32_t>(s.seed), static_cast<std::uint32_t>(s.seed >> 32)});
}

// Normal values i .. i + n - 1 of a stream, n and i multiples of 4 (Box-Muller).
void normal(const LabSettings& s, Stream stream, std::int64_t i, std::int64_t n, double deviation,
            double* out) {
  for (std::int64_t j = 0; j < n; j += 4) {
    const auto b = bits(s, stream, (i + j) / 4);
    for (std::size_t half : {std::size_t{0}, std::size_t{2}}) {
      const double radius = deviation * std::sqrt(-2 * std::log((b[half] + 0.5) * 0x1p-32));
      const double angle = 2 * std::numbers::pi * b[half + 1] * 0x1p-32;
      *out++ = radius * std::cos(angle);
      *out++ = radius * std::sin(angle);
    }
  }
}

// Cluster c has the probability 1 / (c + 1) over their sum (Zipf).
std::int64_t cluster_of(const LabSettings& s, std::int64_t sample) {
  double sum = 0, u = bits(s, kCluster, sample)[0] * 0x1p-32;
  for (std::int64_t c = 0; c < kLabClusters; ++c) sum += 1.0 / static_cast<double>(c + 1);
  u *= sum;
  for (std::int64_t c = 0; c < kLabClusters; ++c) {
    u -= 1.0 / static_cast<double>(c + 1);
    if (u < 0) return c;
  }
  return kLabClusters - 1;
}

// y [N] = W [N, K] x [K]
template <std::int64_t N, std::int64_t K>
void product(const double* W, const double* x, double* y) {
  for (std::int64_t n = 0; n < N; ++n) {
    double sum = 0;
    for (std::int64_t k = 0; k < K; ++k) sum += W[n * K + k] * x[k];
    y[n] = sum;
  }
}

// dW [N, K] += y x^T, dx [K] = W^T y
template <std::int64_t N, std::int64_t K>
void back(const double* W, const double* x, const double* y, double* dW, double* dx) {
  std::fill_n(dx, K, 0.0);
  for (std::int64_t n = 0; n < N; ++n) {
    for (std::int64_t k = 0; k < K; ++k) {
      dW[n * K + k] += y[n] * x[k];
      dx[k] += W[n * K + k] * y[n];
    }
  }
}

struct Scored {
  double z[E], s[E];
  std::int64_t chosen;
};

Scored score(const LabSettings& settings, const double* router, const float* bias,
             const double* x) {
  Scored r;
  product<E, D>(router, x, r.z);
  const double top = *std::max_element(r.z, r.z + E);
  double sum = 0;
  for (std::int64_t e = 0; e < E; ++e) sum += r.s[e] = std::exp(r.z[e] - top);
  for (std::int64_t e = 0; e < E; ++e) {
    r.s[e] = settings.score == GateScore::kSoftmax ? r.s[e] / sum : 1 / (1 + std::exp(-r.z[e]));
  }
  const auto biased = [&](std::int64_t e) { return r.s[e] + static_cast<double>(bias[e]); };
  r.chosen = 0;
  for (std::int64_t e = 1; e < settings.experts; ++e) {
    if (biased(e) > biased(r.chosen)) r.chosen = e;
  }
  return r;
}

// dL/dz [E] from dL/ds of the chosen expert.
void back_score(const LabSettings& settings, const Scored& r, double ds, double* dz) {
  const std::int64_t e = r.chosen;
  std::fill_n(dz, E, 0.0);
  if (settings.score == GateScore::kSigmoid) {
    dz[e] = ds * r.s[e] * (1 - r.s[e]);
    return;
  }
  for (std::int64_t j = 0; j < E; ++j) dz[j] = ds * r.s[e] * ((j == e ? 1 : 0) - r.s[j]);
}

}  // namespace

LabBatch lab_batch(const LabSettings& s, std::int64_t step) {
  std::vector<double> centres(kLabClusters * D), teachers(kLabClusters * D * D);
  normal(s, kCentres, 0, kLabClusters * D, s.shifted ? 0.5 : 1.0, centres.data());
  for (double& c : centres) c += s.shifted ? 1.5 : 0.0;
  normal(s, kTeachers, 0, kLabClusters * D * D, 1 / std::sqrt(static_cast<double>(D)),
         teachers.data());
  LabBatch batch;
  batch.x.resize(static_cast<std::size_t>(s.tokens * D));
  batch.target = batch.x;
  normal(s, kNoise, step * s.tokens * D, s.tokens * D, 0.3, batch.x.data());
  for (std::int64_t t = 0; t < s.tokens; ++t) {
    const std::int64_t c = cluster_of(s, step * s.tokens + t);
    double* const x = batch.x.data() + t * D;
    for (std::int64_t d = 0; d < D; ++d) x[d] += centres[static_cast<std::size_t>(c * D + d)];
    product<D, D>(teachers.data() + c * D * D, x, batch.target.data() + t * D);
  }
  return batch;
}

LabModel::LabModel(const LabSettings& settings)
    : parameters(kRouter + E * kExpert), bias(E), settings_(settings) {
  require(settings.alpha == 0 || settings.score == GateScore::kSoftmax,
          "balancing: the auxiliary loss is of softmax probabilities");
  require(settings.tokens >= 1 && settings.steps >= 1, "balancing: {} of {}",
          counted(settings.steps, "step"), counted(settings.tokens, "token"));
  require(settings.experts >= 1 && settings.experts <= E,
          "balancing: tokens choose among {}, must be from 1 to {}",
          counted(settings.experts, "expert"), E);
  double* p = parameters.data();
  normal(settings, kInit, 0, kRouter, settings.shifted ? 0.3 : 0.1, p);
  for (std::int64_t e = 0; e < E; ++e) {
    double* const expert = p + kRouter + e * kExpert;
    normal(settings, kInit, kRouter + e * kExpert, H * D, std::sqrt(2.0 / D), expert);
    normal(settings, kInit, kRouter + e * kExpert + H * D, H * D, std::sqrt(1.0 / H),
           expert + H * D);
  }
}

LabModel::Step LabModel::run(const LabBatch& batch, std::vector<double>* gradient) const {
  const std::int64_t T = std::ssize(batch.x) / D;
  const double scale = 1 / static_cast<double>(T * D);
  Step step;
  step.load.assign(E, 0);
  std::vector<float> logits;
  std::vector<double> none(gradient == nullptr ? parameters.size() : 0);
  std::vector<double>& g = gradient == nullptr ? none : *gradient;
  g.assign(parameters.size(), 0);
  for (std::int64_t t = 0; t < T; ++t) {
    const double *const x = batch.x.data() + t * D, *const target = batch.target.data() + t * D;
    const Scored r = score(settings_, parameters.data(), bias.data(), x);
    const auto e = static_cast<std::size_t>(r.chosen);
    ++step.load[e];
    for (double z : r.z) logits.push_back(static_cast<float>(z));
    const std::int64_t at = kRouter + r.chosen * kExpert;
    const double *const W1 = parameters.data() + at, *const W2 = W1 + H * D;
    double h[H], o[D], dy[D], dh[H], dx[D], dz[E], ds = 0;
    product<H, D>(W1, x, h);
    for (double& v : h) v = std::max(v, 0.0);
    product<D, H>(W2, h, o);
    for (std::int64_t d = 0; d < D; ++d) {
      const double error = r.s[e] * o[d] - target[d];
      step.mse += scale * error * error;
      ds += 2 * scale * error * o[d];
      dy[d] = 2 * scale * error * r.s[e];
    }
    if (gradient == nullptr) continue;
    back<D, H>(W2, h, dy, g.data() + at + H * D, dh);
    for (std::int64_t i = 0; i < H; ++i) dh[i] = h[i] > 0 ? dh[i] : 0;
    back<H, D>(W1, x, dh, g.data() + at, dx);
    back_score(settings_, r, ds, dz);
    back<E, D>(parameters.data(), x, dz, g.data(), dx);
  }
  step.loss = step.mse;
  if (settings_.alpha == 0) return step;
  const RouterLoss balance = switch_loss({logits.data(), {T, E}}, settings_.alpha);
  step.loss += balance.loss;
  double dx[D];
  for (std::int64_t t = 0; gradient != nullptr && t < T; ++t) {
    back<E, D>(parameters.data(), batch.x.data() + t * D, balance.gradient.data() + t * E, g.data(),
               dx);
  }
  return step;
}

}  // namespace octavo::switch_routing
