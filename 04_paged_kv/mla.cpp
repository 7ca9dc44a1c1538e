#include "04_paged_kv/mla.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "04_paged_kv/rms_norm.h"
#include "04_paged_kv/rope.h"
#include "common/base/error.h"

namespace octavo {
namespace {

// The norms inside latent attention have an epsilon of their own, whatever rms_norm_eps says.
constexpr double kLatentEpsilon = 1e-6;

// Columns [begin, begin + count) of rows of `width`, copied out of and into a matrix of T rows.
std::vector<float> columns(const std::vector<float>& from, std::int64_t width, std::int64_t begin,
                           std::int64_t count) {
  const std::int64_t T = std::ssize(from) / width;
  std::vector<float> to(static_cast<std::size_t>(T * count));
  for (std::int64_t t = 0; t < T; ++t) {
    std::copy_n(from.data() + t * width + begin, count, to.data() + t * count);
  }
  return to;
}

void set_columns(std::vector<float>& to, std::int64_t width, std::int64_t begin,
                 const std::vector<float>& from, std::int64_t count) {
  for (std::int64_t t = 0; t < std::ssize(to) / width; ++t) {
    std::copy_n(from.data() + t * count, count, to.data() + t * width + begin);
  }
}

std::vector<float> apply(Exec& exec, const Linear& linear, const std::vector<float>& x) {
  const std::int64_t T = std::ssize(x) / linear.inputs();
  std::vector<float> y(static_cast<std::size_t>(T * linear.outputs()));
  linear.forward(exec, View<const float, 2>(x, {T, linear.inputs()}),
                 View<float, 2>(y, {T, linear.outputs()}));
  return y;
}

// Bytes of a matrix [N, K] in the order of its transpose.
template <class T>
void transpose(const void* from, std::int64_t N, std::int64_t K, void* to) {
  for (std::int64_t n = 0; n < N; ++n) {
    for (std::int64_t k = 0; k < K; ++k) {
      static_cast<T*>(to)[k * N + n] = static_cast<const T*>(from)[n * K + k];
    }
  }
}

}  // namespace

std::int64_t MlaLayer::workspace(std::int64_t T) const {
  std::int64_t most =
      std::max({w_.query->workspace(T), w_.kv_down->workspace(T), w_.output->workspace(T),
                w_.query_down ? w_.query_down->workspace(T) : 0});
  for (const auto* parts : {&w_.key_up_transposed, &w_.value_up}) {
    for (const auto& part : *parts) most = std::max(most, part->workspace(T));
  }
  return most;
}

std::vector<float> MlaLayer::queries(Exec& exec, View<const float, 2> x) const {
  std::vector<float> q(x.data(), x.data() + x.size());
  if (w_.query_down) {
    q = apply(exec, *w_.query_down, q);
    const View<float, 2> rows(q, {x.extent(0), w_.query_down->outputs()});
    rms_norm_reference(rows, w_.query_norm, kLatentEpsilon, rows);
  }
  return apply(exec, *w_.query, q);
}

// Equation 6: c = RMSNorm(Wc x), and the rotary key beside it.
std::vector<float> MlaLayer::cached_rows(Exec& exec, const Batch& batch,
                                         View<const float, 2> x) const {
  const std::int64_t T = x.extent(0), rank = w_.shape.kv_rank, rope = w_.shape.rope;
  std::vector<float> rows(static_cast<std::size_t>(T * (rank + rope)));
  w_.kv_down->forward(exec, x, View<float, 2>(rows, {T, rank + rope}));
  std::vector<float> c = columns(rows, rank + rope, 0, rank);
  std::vector<float> key = columns(rows, rank + rope, rank, rope);
  const View<float, 2> latent(c, {T, rank});
  rms_norm_reference(latent, w_.latent_norm, kLatentEpsilon, latent);
  rope_reference(View<float, 3>(key, {T, 1, rope}), batch.positions, w_.rope_theta,
                 w_.shape.rope_interleaved ? RopePairing::kNeighbours : RopePairing::kHalves);
  set_columns(rows, rank + rope, 0, c, rank);
  set_columns(rows, rank + rope, rank, key, rope);
  return rows;
}

// Equation 7, its left side: q . (Uk c) = (Uk^T q) . c.
std::vector<float> MlaLayer::absorbed(Exec& exec, const Batch& batch,
                                      const std::vector<float>& q) const {
  const std::int64_t H = w_.heads(), rank = w_.shape.kv_rank, nope = w_.shape.nope,
                     rope = w_.shape.rope;
  const std::int64_t T = std::ssize(batch.tokens), from = H * (nope + rope), to = H * (rank + rope);
  std::vector<float> result(static_cast<std::size_t>(T * to));
  for (std::int64_t h = 0; h < H; ++h) {
    const std::vector<float> plain = columns(q, from, h * (nope + rope), nope);
    std::vector<float> turned = columns(q, from, h * (nope + rope) + nope, rope);
    rope_reference(View<float, 3>(turned, {T, 1, rope}), batch.positions, w_.rope_theta,
                   w_.shape.rope_interleaved ? RopePairing::kNeighbours : RopePairing::kHalves);
    set_columns(result, to, h * (rank + rope),
                apply(exec, *w_.key_up_transposed[static_cast<std::size_t>(h)], plain), rank);
    set_columns(result, to, h * (rank + rope) + rank, turned, rope);
  }
  return result;
}

void MlaLayer::forward(Exec& exec, std::int64_t layer, const Batch& batch, KvCache& cache,
                       View<const float, 2> x, View<float, 2> y) const {
  const std::int64_t T = x.extent(0), H = w_.heads(), rank = w_.shape.kv_rank,
                     row = rank + w_.shape.rope, v = w_.shape.v;
  const std::vector<float> rows = cached_rows(exec, batch, x);
  cache.write(layer, batch.slot_mapping, View<const float, 3>(rows, {T, 1, row}));
  const std::vector<float> q = absorbed(exec, batch, queries(exec, x));
  // The width of the heads as they were before anything was absorbed.
  const auto width = static_cast<double>(w_.shape.nope + w_.shape.rope);
  std::vector<float> latent(static_cast<std::size_t>(T * H * rank));
  attention_->attend(exec,
                     {.layer = layer,
                      .batch = batch,
                      .cache = cache,
                      .query = View<const float, 3>(q, {T, H, row}),
                      .scale = 1.0 / std::sqrt(width)},
                     View<float, 3>(latent, {T, H, rank}));
  // Equation 7, its right side: a sum of values Uv c is Uv times the sum of c.
  std::vector<float> out(static_cast<std::size_t>(T * H * v));
  for (std::int64_t h = 0; h < H; ++h) {
    set_columns(out, H * v, h * v,
                apply(exec, *w_.value_up[static_cast<std::size_t>(h)],
                      columns(latent, H * rank, h * rank, rank)),
                v);
  }
  w_.output->forward(exec, View<const float, 2>(out, {T, H * v}), y);
}

void set_kv_up(MlaWeights& weights, const TensorView& kv_b, std::int64_t heads,
               const LinearFactory& factory) {
  const std::int64_t nope = weights.shape.nope, v = weights.shape.v, rank = weights.shape.kv_rank;
  require(kv_b.rank() == 2 && kv_b.extent(0) == heads * (nope + v) && kv_b.extent(1) == rank,
          "latent attention: kv_b_proj is {}, must be [{}, {}]", kv_b.describe(),
          heads * (nope + v), rank);
  for (std::int64_t h = 0; h < heads; ++h) {
    auto* const key =
        static_cast<std::byte*>(kv_b.data()) + h * (nope + v) * rank * bytes_of(kv_b.dtype());
    const Tensor& turned = weights.copies.emplace_back(
        cpu_device(), kv_b.dtype(), std::initializer_list<std::int64_t>{rank, nope});
    if (kv_b.dtype() == DType::kF32) {
      transpose<float>(key, nope, rank, turned.view().data());
    } else {
      transpose<std::uint16_t>(key, nope, rank, turned.view().data());
    }
    weights.key_up_transposed.push_back(factory.make(turned.view()));
    weights.value_up.push_back(
        factory.make({key + nope * rank * bytes_of(kv_b.dtype()), kv_b.dtype(), {v, rank}}));
  }
}

}  // namespace octavo
