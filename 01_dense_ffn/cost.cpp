#include "01_dense_ffn/cost.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "01_dense_ffn/ffn.h"
#include "common/base/counted.h"
#include "common/base/error.h"
#include "common/model/size.h"

namespace octavo {
namespace {

constexpr double kActivationBytes = 4;  // the residual stream is fp32

// The parts of one config in one forward; sizes as doubles, since their products pass 2^63.
class Costs {
 public:
  Costs(const model::ModelConfig& config, const ForwardShape& shape)
      : c_(config),
        size_(model::size_of(config)),
        T_(static_cast<double>(shape.tokens)),
        S_(static_cast<double>(shape.sequences)),
        context_(static_cast<double>(shape.context)),
        L_(static_cast<double>(config.layers)),
        sparse_(config.moe ? L_ - static_cast<double>(config.moe->first_dense) : 0),
        D_(static_cast<double>(config.width)),
        w_(static_cast<double>(bytes_of(config.dtype))) {}

  std::vector<PartCost> all(std::int64_t tokens) {
    const model::ParameterCount &p = size_.parameters, &a = size_.active;
    add(Part::kEmbedding, p.embedding, a.embedding, {0, T_ * D_ * (w_ + kActivationBytes)});
    add(Part::kProjections, p.attention, a.attention, matrices(p.attention, p.attention, L_));
    add(Part::kScores, 0, 0, scores());
    add(Part::kDenseFfn, p.dense_ffn, a.dense_ffn,
        matrices(p.dense_ffn, p.dense_ffn, L_ - sparse_));
    add(Part::kRouter, p.router, a.router, matrices(p.router, p.router, sparse_));
    add(Part::kRoutedExperts, p.routed_experts, a.routed_experts, experts(tokens));
    add(Part::kSharedExperts, p.shared_experts, a.shared_experts,
        matrices(p.shared_experts, p.shared_experts, sparse_));
    add(Part::kNorms, p.norms, a.norms, norms());
    add(Part::kHead, p.head, a.head, head());
    return std::move(parts_);
  }

 private:
  void add(Part part, std::int64_t parameters, std::int64_t active, const Work& work) {
    if (parameters > 0 || work.bytes > 0) parts_.push_back({part, parameters, active, work});
  }

  // Matrices over all layers: `used` weights meet every row, `read` of them leave memory.
  Work matrices(double used, double read, double layers) const {
    if (used == 0) return {};
    return {2 * T_ * used, read * w_ + layers * T_ * 2 * D_ * kActivationBytes};
  }
  Work matrices(std::int64_t used, std::int64_t read, double layers) const {
    return matrices(static_cast<double>(used), static_cast<double>(read), layers);
  }

  Work scores() const {
    const auto value_width = static_cast<double>(c_.mla ? c_.mla->v : c_.head_width);
    const double widths =
        static_cast<double>(c_.heads) * (static_cast<double>(c_.head_width) + value_width);
    return {2 * T_ * context_ * widths * L_,
            (S_ * context_ + T_) * static_cast<double>(size_.kv_bytes_per_token) +
                L_ * T_ * kActivationBytes * widths};  // queries in, outputs out
  }

  Work experts(std::int64_t tokens) const {
    if (!c_.moe) return {};
    const auto stored = static_cast<double>(size_.parameters.routed_experts);
    const double touched = expected_experts(c_.moe->experts, c_.moe->top_k, tokens) /
                           static_cast<double>(c_.moe->experts);
    return matrices(static_cast<double>(size_.active.routed_experts), stored * touched, sparse_);
  }

  Work norms() const {
    const auto elements = static_cast<double>(size_.parameters.norms);
    return {4 * T_ * elements, elements * w_ + 2 * T_ * elements * kActivationBytes};
  }

  // A tied head has no parameters of its own and is read all the same.
  Work head() const {
    const auto V = static_cast<double>(c_.vocab);
    return {2 * S_ * V * D_, V * D_ * w_ + S_ * (V + D_) * kActivationBytes};
  }

  const model::ModelConfig& c_;
  model::ModelSize size_;
  double T_, S_, context_, L_, sparse_, D_, w_;
  std::vector<PartCost> parts_;
};

}  // namespace

std::string_view name_of(Part part) {
  constexpr std::array<std::string_view, 9> names = {
      "embedding",      "projections", "scores and output",
      "dense FFN",      "router",      "routed experts",
      "shared experts", "norms",       "head"};
  return names[static_cast<std::size_t>(part)];
}

std::vector<PartCost> forward_cost(const model::ModelConfig& config, const ForwardShape& s) {
  require(s.tokens >= 1 && s.context >= 1 && s.sequences >= 1 && s.sequences <= s.tokens,
          "a forward of {} of {} at context {}: each must be at least 1, and the "
          "sequences at most the tokens",
          counted(s.tokens, "token"), counted(s.sequences, "sequence"), s.context);
  return Costs(config, s).all(s.tokens);
}

PartCost total(const std::vector<PartCost>& parts) {
  PartCost sum;
  for (const PartCost& p : parts) {
    sum.parameters += p.parameters;
    sum.active += p.active;
    sum.work += p.work;
  }
  return sum;
}

double expected_experts(std::int64_t experts, std::int64_t top_k, std::int64_t tokens) {
  const auto E = static_cast<double>(experts);
  return E * (1 - std::pow(1 - static_cast<double>(top_k) / E, static_cast<double>(tokens)));
}

double Roofline::seconds(const Work& work) const {
  return std::max(work.bytes / bandwidth, work.flops / flops);
}

double Roofline::share_of_peak(const Work& work) const {
  return work.flops / seconds(work) / flops;
}

std::int64_t tokens_at_ridge(const Roofline& machine, std::int64_t D, std::int64_t F, int matrices,
                             double weight_bytes) {
  const Work weights = ffn_work(0, D, F, matrices, weight_bytes);
  const Work one = ffn_work(1, D, F, matrices, weight_bytes);
  // flops a token - ridge * bytes a token: what a token contributes beyond its own activations
  const double gain = one.flops - machine.ridge() * (one.bytes - weights.bytes);
  if (gain <= 0) return 0;
  return static_cast<std::int64_t>(std::ceil(machine.ridge() * weights.bytes / gain));
}

}  // namespace octavo
