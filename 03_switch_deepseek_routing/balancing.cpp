#include "03_switch_deepseek_routing/balancing.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "common/base/error.h"

namespace octavo::switch_routing {
namespace {

// Adam with the usual constants.
class Adam {
 public:
  explicit Adam(std::size_t parameters) : mean_(parameters), square_(parameters) {}

  void step(const std::vector<double>& gradient, std::vector<double>& parameters) {
    constexpr double kRate = 3e-3, kMean = 0.9, kSquare = 0.999, kTiny = 1e-8;
    ++steps_;
    const double rate = kRate / (1 - std::pow(kMean, steps_));
    const double square_scale = 1 / (1 - std::pow(kSquare, steps_));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double g = gradient[i];
      mean_[i] = kMean * mean_[i] + (1 - kMean) * g;
      square_[i] = kSquare * square_[i] + (1 - kSquare) * g * g;
      parameters[i] -= rate * mean_[i] / (std::sqrt(square_[i] * square_scale) + kTiny);
    }
  }

 private:
  int steps_ = 0;
  std::vector<double> mean_, square_;
};

void add(const std::vector<std::int64_t>& load, std::vector<std::int64_t>& to) {
  std::ranges::transform(load, to, to.begin(), std::plus<>());
}

// Throws Error for a load that is none.
double total_of(const std::vector<std::int64_t>& load) {
  require(!load.empty() && std::ranges::all_of(load, [](std::int64_t n) { return n >= 0; }),
          "balancing: a load of {} experts, or one below 0", load.size());
  return std::accumulate(load.begin(), load.end(), 0.0);
}

}  // namespace

double effective_experts(const std::vector<std::int64_t>& load) {
  const double total = total_of(load);
  double entropy = 0;
  for (std::int64_t n : load) {
    const double share = static_cast<double>(n) / total;
    if (n > 0) entropy -= share * std::log(share);
  }
  return std::exp(entropy);
}

double max_violation(const std::vector<std::int64_t>& load) {
  const double mean = total_of(load) / static_cast<double>(load.size());
  return static_cast<double>(*std::ranges::max_element(load)) / mean - 1;
}

LabResult train_lab(const LabSettings& settings) {
  constexpr std::int64_t kHistory = 20;
  LabModel model(settings);
  Adam adam(model.parameters.size());
  LabResult result;
  std::vector<double> gradient;
  std::vector<std::int64_t> recent(kLabExperts), late(kLabExperts);
  const std::int64_t first_late = settings.steps - std::max<std::int64_t>(1, settings.steps / 5);
  for (std::int64_t i = 0; i < settings.steps; ++i) {
    const LabModel::Step step = model.run(lab_batch(settings, i), &gradient);
    result.finite = std::isfinite(step.loss);
    if (!result.finite) return result;
    adam.step(gradient, model.parameters);
    update_bias({model.bias.data(), {kLabExperts}}, step.load, settings.gamma);
    add(step.load, recent);
    if ((i + 1) % kHistory == 0) {
      result.history.push_back(effective_experts(recent));
      std::ranges::fill(recent, 0);
    }
    if (i < first_late) continue;
    const auto late_steps = static_cast<double>(settings.steps - first_late);
    add(step.load, late);
    result.mse += step.mse / late_steps;
    result.max_vio_batch += max_violation(step.load) / late_steps;
  }
  result.effective_experts = effective_experts(late);
  result.max_vio_global = max_violation(late);
  for (std::int64_t n : late) result.share.push_back(static_cast<double>(n) / total_of(late));
  std::ranges::sort(result.share, std::greater<>());
  return result;
}

}  // namespace octavo::switch_routing
