#pragma once
// A sparse layer with shared experts beside the routed ones (Dai et al. 2024, DeepSeekMoE): what
// every token needs is learned once.

#include <memory>

#include "02_sparse_moe/moe.h"

namespace octavo {

// y_t = sum_j w_tj Expert_{id_tj}(x_t) + Shared(x_t), equation 12 of the README. The shared part
// has no weight and no gate. Checkpoints store several shared experts as one feed-forward layer
// that is as wide as all of them.
class SharedExpertLayer : public FeedForward {
 public:
  // Both are wanted, of the same width D.
  SharedExpertLayer(std::unique_ptr<FeedForward> routed, std::unique_ptr<FeedForward> shared);

  std::int64_t workspace(std::int64_t T) const override;
  void forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const override;

 private:
  std::unique_ptr<FeedForward> routed_, shared_;
};

}  // namespace octavo
