#pragma once
// The sparse Mixture-of-Experts layer: E feed-forward layers of which each token uses k.

#include <functional>
#include <memory>
#include <vector>

#include "01_dense_ffn/linear.h"
#include "02_sparse_moe/experts.h"
#include "02_sparse_moe/routing.h"

namespace octavo {

// The experts of one layer. Whoever stores or runs experts in another way plugs in another
// ExpertWeights.
class ExpertWeights {
 public:
  virtual ~ExpertWeights() = default;
  virtual std::int64_t experts() const = 0;
  // Bytes of exec.workspace that a forward of up to T rows with k experts each takes.
  virtual std::int64_t workspace(std::int64_t T, std::int64_t top_k) const = 0;
  // Equation 3: y_t = sum_j weights_tj Expert_{ids_tj}(x_t), j ascending; an id of -1 adds nothing.
  // x, y [T, D]; ids and weights [T, k] on the Exec's device. Rows do not influence each other.
  virtual void forward(Exec& exec, View<const float, 2> x, View<const int, 2> ids,
                       View<const float, 2> weights, View<float, 2> y) const = 0;
};

// Expert after expert on the host, for experts that can only be run one at a time: gather an
// expert's rows, run it, put each result at its slot, then sum.
class LoopedExperts : public ExpertWeights {
 public:
  std::int64_t workspace(std::int64_t T, std::int64_t top_k) const override {
    return expert_workspace(T * top_k);
  }
  void forward(Exec& exec, View<const float, 2> x, View<const int, 2> ids,
               View<const float, 2> weights, View<float, 2> y) const override;

 protected:
  // Bytes of exec.workspace that one expert takes for up to M rows.
  virtual std::int64_t expert_workspace(std::int64_t M) const = 0;
  // Applies expert e to rows x [M, D], giving y [M, D].
  virtual void forward_expert(Exec& exec, std::int64_t e, View<const float, 2> x,
                              View<float, 2> y) const = 0;
};

// One FeedForward an expert.
class SeparateExperts : public LoopedExperts {
 public:
  explicit SeparateExperts(std::vector<std::unique_ptr<FeedForward>> experts)
      : experts_(std::move(experts)) {}
  std::int64_t experts() const override { return static_cast<std::int64_t>(experts_.size()); }

 protected:
  std::int64_t expert_workspace(std::int64_t M) const override;
  void forward_expert(Exec& exec, std::int64_t e, View<const float, 2> x,
                      View<float, 2> y) const override {
    experts_[static_cast<std::size_t>(e)]->forward(exec, x, y);
  }

 private:
  std::vector<std::unique_ptr<FeedForward>> experts_;
};

// Gate, router, experts: a FeedForward like the dense one.
class MoeLayer : public FeedForward {
 public:
  // gate: [E, D]. Throws Error when gate, router and experts do not agree on E.
  MoeLayer(std::unique_ptr<Linear> gate, std::unique_ptr<Router> router,
           std::unique_ptr<ExpertWeights> experts);

  std::int64_t workspace(std::int64_t T) const override;
  void forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const override;

  // Called with the plan of every forward on a host device, before the experts run; empty to stop.
  void observe(std::function<void(const RoutingPlan&)> observer) {
    observer_ = std::move(observer);
  }

 private:
  std::unique_ptr<Linear> gate_;
  std::unique_ptr<Router> router_;
  std::unique_ptr<ExpertWeights> experts_;
  std::function<void(const RoutingPlan&)> observer_;
};

// The parts of a layer from a checkpoint's weights: by the versions that the factory takes, whose
// registry must have this chapter's topics for its device; where it takes none, one FeedForward an
// expert and the router's reference. Weights are in host memory and must outlive what is made of
// them. Versions want experts of one shape, type and activation, without biases.
std::unique_ptr<ExpertWeights> make_experts(const LinearFactory& factory,
                                            const std::vector<FfnWeights>& experts,
                                            std::int64_t top_k);
std::unique_ptr<Router> make_router(const LinearFactory& factory, SoftmaxRouting routing);

}  // namespace octavo
