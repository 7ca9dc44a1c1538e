#include "03_switch_deepseek_routing/shared_experts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/error.h"

namespace octavo {

SharedExpertLayer::SharedExpertLayer(std::unique_ptr<FeedForward> routed,
                                     std::unique_ptr<FeedForward> shared)
    : routed_(std::move(routed)), shared_(std::move(shared)) {
  require(routed_ != nullptr && shared_ != nullptr,
          "a layer with shared experts wants routed and shared ones");
}

std::int64_t SharedExpertLayer::workspace(std::int64_t T) const {
  return std::max(routed_->workspace(T), shared_->workspace(T));
}

void SharedExpertLayer::forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const {
  std::vector<float> shared(static_cast<std::size_t>(y.size()));
  shared_->forward(exec, x, View<float, 2>(shared, y.extents()));
  routed_->forward(exec, x, y);
  for (std::size_t i = 0; i < shared.size(); ++i) y.data()[i] += shared[i];
}

}  // namespace octavo
