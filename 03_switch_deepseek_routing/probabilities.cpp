#include "03_switch_deepseek_routing/probabilities.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace octavo::switch_routing {

std::vector<double> softmax(View<const float, 1> z) {
  std::vector<double> p(static_cast<std::size_t>(z.extent(0)));
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::size_t e = 0; e < p.size(); ++e) {
    p[e] = static_cast<double>(z(static_cast<std::int64_t>(e)));
    largest = std::max(largest, p[e]);
  }
  for (double& value : p) {
    value = std::exp(value - largest);
    sum += value;
  }
  for (double& value : p) value /= sum;
  return p;
}

std::vector<double> sigmoid(View<const float, 1> z) {
  std::vector<double> s(static_cast<std::size_t>(z.extent(0)));
  for (std::size_t e = 0; e < s.size(); ++e) {
    s[e] = 1.0 / (1.0 + std::exp(-static_cast<double>(z(static_cast<std::int64_t>(e)))));
  }
  return s;
}

}  // namespace octavo::switch_routing
