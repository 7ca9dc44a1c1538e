#include "03_switch_deepseek_routing/deepseek_versions.h"

#include <utility>

#include "01_dense_ffn/version_layer.h"
#include "03_switch_deepseek_routing/grouped_top_k.h"

namespace octavo {
namespace {

using dense_ffn::PlacedWeight;
using switch_routing::GroupedTopKArgs;

// One version for all batches: two could round a weight in two ways. Scores are fp32, whatever type
// the matrices have.
class VersionDeepseekRouter : public DeepseekRouter {
 public:
  VersionDeepseekRouter(const VersionChoice& choice, const DeepseekRouting& routing,
                        const std::vector<float>& bias)
      : DeepseekRouter(routing, bias),
        routing_(routing),
        host_bias_(bias),
        registry_(choice.registry),
        device_(choice.device) {
    if (!host_bias_.empty()) {
      bias_ = PlacedWeight(TensorView(View<const float, 1>(host_bias_, {routing.experts})), device_,
                           DType::kF32);
    }
    version_ = &registry_->pick<GroupedTopKArgs>("grouped_top_k", shape(dense_ffn::kManyBatchRows),
                                                 device_, DType::kF32);
  }

  std::int64_t workspace(std::int64_t T) const override {
    return version_->workspace != nullptr ? version_->workspace(shape(T), device_) : 0;
  }
  void choose(Exec& exec, View<const float, 2> logits, View<int, 2> ids,
              View<float, 2> weights) const override {
    GroupedTopKArgs args = shape(logits.extent(0));
    args.logits = logits;
    args.ids = ids;
    args.weights = weights;
    version_->run(exec, args, Prepared());
  }

 private:
  GroupedTopKArgs shape(std::int64_t T) const {
    GroupedTopKArgs a;
    a.logits = {nullptr, {T, experts()}};
    if (!host_bias_.empty()) a.bias = bias_.view().as<const float, 1>();
    a.routing = routing_;
    a.ids = {nullptr, {T, top_k()}};
    a.weights = {nullptr, {T, top_k()}};
    return a;
  }

  DeepseekRouting routing_;
  std::vector<float> host_bias_;  // on the host bias_ borrows it
  std::shared_ptr<const Registry> registry_;
  Device device_;
  PlacedWeight bias_;
  const Version<GroupedTopKArgs>* version_ = nullptr;
};

}  // namespace

std::unique_ptr<Router> make_deepseek_router(const LinearFactory& factory,
                                             const DeepseekRouting& routing,
                                             std::vector<float> bias) {
  if (const VersionChoice* const choice = factory.versions()) {
    return std::make_unique<VersionDeepseekRouter>(*choice, routing, bias);
  }
  return std::make_unique<DeepseekRouter>(routing, std::move(bias));
}

}  // namespace octavo
