#pragma once
// The sparse Mixture-of-Experts layer: E feed-forward layers of which each token uses k.

#include <functional>
#include <memory>
#include <vector>

#include "01_dense_ffn/linear.h"
#include "02_sparse_moe/routing.h"

namespace octavo {

// The experts of one layer. Whoever stores or runs experts in another way plugs in another
// ExpertWeights.
class ExpertWeights {
 public:
  virtual ~ExpertWeights() = default;
  virtual std::int64_t experts() const = 0;
  // Bytes of exec.workspace that a forward of up to M rows takes.
  virtual std::int64_t workspace(std::int64_t M) const = 0;
  // Applies expert e to rows x [M, D], giving y [M, D]. Rows do not influence each other.
  virtual void forward(Exec& exec, std::int64_t e, View<const float, 2> x,
                       View<float, 2> y) const = 0;
};

// One FeedForward an expert.
class SeparateExperts : public ExpertWeights {
 public:
  explicit SeparateExperts(std::vector<std::unique_ptr<FeedForward>> experts)
      : experts_(std::move(experts)) {}
  std::int64_t experts() const override { return static_cast<std::int64_t>(experts_.size()); }
  std::int64_t workspace(std::int64_t M) const override;
  void forward(Exec& exec, std::int64_t e, View<const float, 2> x,
               View<float, 2> y) const override {
    experts_[static_cast<std::size_t>(e)]->forward(exec, x, y);
  }

 private:
  std::vector<std::unique_ptr<FeedForward>> experts_;
};

// y_t = sum_j w_tj Expert_{id_tj}(x_t), equation 3 of the README; the sum runs in slot order, j
// ascending.
class MoeLayer : public FeedForward {
 public:
  // gate: [E, D]. Throws Error when gate, router and experts do not agree on E.
  MoeLayer(std::unique_ptr<Linear> gate, std::unique_ptr<Router> router,
           std::unique_ptr<ExpertWeights> experts);

  std::int64_t workspace(std::int64_t T) const override;
  void forward(Exec& exec, View<const float, 2> x, View<float, 2> y) const override;

  // Called with the plan of every forward, before the experts run; empty to stop.
  void observe(std::function<void(const RoutingPlan&)> observer) {
    observer_ = std::move(observer);
  }

 private:
  std::unique_ptr<Linear> gate_;
  std::unique_ptr<Router> router_;
  std::unique_ptr<ExpertWeights> experts_;
  std::function<void(const RoutingPlan&)> observer_;
};

// Equation 3 for a given plan. x, y [T, D].
void moe_reference(Exec& exec, const RoutingPlan& plan, const ExpertWeights& experts,
                   View<const float, 2> x, View<float, 2> y);

}  // namespace octavo
