#include <cmath>
#include <utility>
#include <vector>

#include "01_dense_ffn/ffn.h"
#include "common/base/error.h"

namespace octavo {

float silu_reference(float z) {
  return static_cast<float>(static_cast<double>(z) / (1.0 + std::exp(-static_cast<double>(z))));
}

SwiGlu::SwiGlu(std::unique_ptr<Linear> gate, std::unique_ptr<Linear> up,
               std::unique_ptr<Linear> down)
    : gate_(std::move(gate)), up_(std::move(up)), down_(std::move(down)) {
  require(gate_->inputs() == up_->inputs() && gate_->outputs() == up_->outputs() &&
              down_->inputs() == gate_->outputs() && down_->outputs() == gate_->inputs(),
          "SwiGLU: gate is [{}, {}], up [{}, {}], down [{}, {}]; they do not fit each other",
          gate_->outputs(), gate_->inputs(), up_->outputs(), up_->inputs(), down_->outputs(),
          down_->inputs());
}

void SwiGlu::forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const {
  const std::int64_t T = x.extent(0), F = gate_->outputs();
  std::vector<float> gate(static_cast<std::size_t>(T * F)), up(gate.size());
  gate_->forward(exec, x, View<float, 2>(gate, {T, F}));
  up_->forward(exec, x, View<float, 2>(up, {T, F}));
  for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = silu_reference(gate[i]) * up[i];
  down_->forward(exec, View<const float, 2>(gate, {T, F}), y);
}

}  // namespace octavo
