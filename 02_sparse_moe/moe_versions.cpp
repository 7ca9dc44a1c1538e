// The parts of an MoE layer that run versions of the registry: topics "gating", "align", "experts".

#include <algorithm>
#include <cstring>
#include <utility>

#include "01_dense_ffn/version_layer.h"
#include "02_sparse_moe/align.h"
#include "02_sparse_moe/moe.h"
#include "common/base/error.h"

namespace octavo {
namespace {

using dense_ffn::kFewBatchRows;
using dense_ffn::kManyBatchRows;
using dense_ffn::PlacedWeight;
using dense_ffn::Versions;

// Scores, ids and slots are fp32 and integers, whatever type the matrices have.
constexpr DType kScores = DType::kF32;

// A softmax router by a version of topic "gating": one for all batches, since two could round a
// weight in two ways.
class VersionRouter : public SoftmaxTopKRouter {
 public:
  VersionRouter(const VersionChoice& choice, const SoftmaxRouting& routing)
      : SoftmaxTopKRouter(routing), registry_(choice.registry), device_(choice.device) {
    const GatingArgs host = args({nullptr, {0, experts()}}, {}, {});
    if (host.bias.size() > 0) bias_ = PlacedWeight(TensorView(host.bias), device_, kScores);
    version_ = &registry_->pick<GatingArgs>("gating", shape(kManyBatchRows), device_, kScores);
  }

  std::int64_t workspace(std::int64_t T) const override {
    return version_->workspace != nullptr ? version_->workspace(shape(T), device_) : 0;
  }
  void choose(Exec& exec, View<const float, 2> logits, View<int, 2> ids,
              View<float, 2> weights) const override {
    version_->run(exec, on_device(args(logits, ids, weights)), Prepared());
  }

 private:
  GatingArgs shape(std::int64_t T) const {
    return on_device(
        args({nullptr, {T, experts()}}, {nullptr, {T, top_k()}}, {nullptr, {T, top_k()}}));
  }
  GatingArgs on_device(GatingArgs a) const {
    if (a.bias.size() > 0) a.bias = bias_.view().as<const float, 1>();
    return a;
  }

  std::shared_ptr<const Registry> registry_;
  Device device_;
  PlacedWeight bias_;
  const Version<GatingArgs>* version_ = nullptr;
};

// Matrices of one shape, one after another: [E, N, K] in host memory.
Tensor stacked(const std::vector<FfnWeights>& experts, TensorView FfnWeights::*matrix) {
  const TensorView& first = experts.front().*matrix;
  for (const FfnWeights& w : experts) {
    require((w.*matrix).dtype() == first.dtype() &&
                std::ranges::equal((w.*matrix).extents(), first.extents()),
            "experts: one has a matrix {}, the first {}; they must be alike",
            (w.*matrix).describe(), first.describe());
  }
  if (first.size() == 0) return {};
  Tensor stack(cpu_device(), first.dtype(),
               {std::ssize(experts), first.extent(0), first.extent(1)});
  auto* to = static_cast<std::byte*>(stack.view().data());
  for (const FfnWeights& w : experts) {
    std::memcpy(to, (w.*matrix).data(), static_cast<std::size_t>(first.bytes()));
    to += first.bytes();
  }
  return stack;
}

// What a stack of matrices cannot say: each expert's own activation, and biases.
void require_plain(const std::vector<FfnWeights>& experts) {
  for (const FfnWeights& w : experts) {
    require(w.activation == experts.front().activation,
            "experts: one has the activation {}, the first {}; they must be alike",
            name_of(w.activation), name_of(experts.front().activation));
    require(w.gate_bias.size() + w.up_bias.size() + w.down_bias.size() == 0,
            "experts: one has biases, which no version of topic experts adds");
  }
}

// The experts of a layer by versions of topics "align" and "experts".
class VersionExperts : public ExpertWeights {
 public:
  VersionExperts(const VersionChoice& choice, const std::vector<FfnWeights>& experts,
                 std::int64_t top_k)
      : top_k_(top_k),
        registry_(choice.registry),
        device_(choice.device),
        versions_(choice.registry, "experts", device_, choice.compute_for(experts.front().up),
                  place(experts, choice.compute_for(experts.front().up)),
                  [&](std::int64_t T) { return shape(T, top_k); }) {
    if (versions_.prepared()) placed_.clear();   // the versions' own form is all that is needed
    (void)align_version(kManyBatchRows, top_k);  // what does not fit is refused at load
  }

  std::int64_t experts() const override { return weights_.experts(); }
  std::int64_t workspace(std::int64_t T, std::int64_t top_k) const override {
    std::int64_t align = align_workspace(T, top_k);
    for (std::int64_t t = 1; t <= std::min(T, kFewBatchRows); ++t) {
      align = std::max(align, align_workspace(t, top_k));
    }
    return Workspace::bytes_for<int>(experts() + 1) + Workspace::bytes_for<int>(T * top_k) +
           std::max(align, versions_.workspace(T, weights_.width(),
                                               [&](std::int64_t t) { return shape(t, top_k); }));
  }
  void forward(Exec& exec, View<const float, 2> x, View<const int, 2> ids,
               View<const float, 2> weights, View<float, 2> y) const override {
    require(ids.extent(1) == top_k_, "experts: {} a token, the layer was made for {}",
            ids.extent(1), top_k_);
    const Workspace::Scope scope(exec.workspace);
    const View<int, 1> offsets = exec.workspace.take<int>(experts() + 1),
                       order = exec.workspace.take<int>(ids.size());
    align_version(x.extent(0), top_k_).run(exec, {ids, offsets, order}, Prepared());
    ExpertsArgs args = shape(x.extent(0), top_k_);
    args.ids = ids;
    args.weight = weights;
    args.offsets = offsets;
    args.order = order;
    args.y = y;
    versions_.run(exec, x, args);
  }

 private:
  // Stacks the matrices on the device, points weights_ at them and lists them for `prepare`.
  WeightSet place(const std::vector<FfnWeights>& experts, DType compute) {
    weights_.activation = experts.front().activation;
    WeightSet set;
    const auto add = [&](std::string_view name, TensorView FfnWeights::*matrix, TensorView& here) {
      Tensor stack = stacked(experts, matrix);
      if (stack.view().size() == 0) return;
      placed_.emplace_back(std::move(stack), device_, compute);
      here = placed_.back().view();
      set.add({name, here});
    };
    add("gate", &FfnWeights::gate, weights_.gate);
    add("up", &FfnWeights::up, weights_.up);
    add("down", &FfnWeights::down, weights_.down);
    return set;
  }

  ExpertsArgs shape(std::int64_t T, std::int64_t top_k) const {
    const std::int64_t D = weights_.width();
    ExpertsArgs a;
    a.x = {nullptr, DType::kF32, {T, D}};
    a.weights = weights_;
    a.ids = {nullptr, {T, top_k}};
    a.weight = {nullptr, {T, top_k}};
    a.offsets = {nullptr, {experts() + 1}};
    a.order = {nullptr, {T * top_k}};
    a.y = {nullptr, {T, D}};
    return a;
  }

  // Integers have one right value, so that each batch may take the version that suits it.
  const Version<AlignArgs>& align_version(std::int64_t T, std::int64_t top_k) const {
    const AlignArgs shape = {
        {nullptr, {T, top_k}}, {nullptr, {experts() + 1}}, {nullptr, {T * top_k}}};
    return registry_->pick<AlignArgs>("align", shape, device_, kScores);
  }
  std::int64_t align_workspace(std::int64_t T, std::int64_t top_k) const {
    const Version<AlignArgs>& v = align_version(T, top_k);
    if (v.workspace == nullptr) return 0;
    return v.workspace({{nullptr, {T, top_k}}, {nullptr, {experts() + 1}}, {nullptr, {T * top_k}}},
                       device_);
  }

  std::int64_t top_k_;
  std::shared_ptr<const Registry> registry_;
  Device device_;
  std::vector<PlacedWeight> placed_;
  ExpertStack weights_;
  Versions<ExpertsArgs> versions_;
};

}  // namespace

std::unique_ptr<ExpertWeights> make_experts(const LinearFactory& factory,
                                            const std::vector<FfnWeights>& experts,
                                            std::int64_t top_k) {
  require(!experts.empty(), "a sparse layer without experts");
  if (const VersionChoice* const choice = factory.versions()) {
    require_plain(experts);
    require(top_k >= 1 && top_k <= std::ssize(experts), "experts: {} a token of {}", top_k,
            experts.size());
    return std::make_unique<VersionExperts>(*choice, experts, top_k);
  }
  std::vector<std::unique_ptr<FeedForward>> separate;
  for (const FfnWeights& w : experts) separate.push_back(factory.make_ffn(w));
  return std::make_unique<SeparateExperts>(std::move(separate));
}

std::unique_ptr<Router> make_router(const LinearFactory& factory, SoftmaxRouting routing) {
  if (const VersionChoice* const choice = factory.versions()) {
    return std::make_unique<VersionRouter>(*choice, routing);
  }
  return std::make_unique<SoftmaxTopKRouter>(std::move(routing));
}

}  // namespace octavo
