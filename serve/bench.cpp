// The benchmark of the whole model: ./run bench serve. A step of the decoder, a prompt's and one of
// decoding sequences, on synthetic checkpoints of 1.6 GB, which no cache holds
// (common/checkpoints/synthesize.py writes them into build/synthetic).
//
// Work: every weight that the step touches is read once, of routed experts those that it chose,
// counted; two FLOPs for each weight that a row meets.

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <numeric>
#include <set>

#include "common/base/error.h"
#include "common/bench/suite.h"
#include "common/model/size.h"
#include "serve/loaded_model.h"

namespace octavo::serve {
namespace {

constexpr std::int64_t kContext = 64;  // tokens a decoding sequence has before the step
constexpr DType kStored = DType::kBF16;

// A step of `sequences`, each with `fed` tokens behind `context` others.
struct Step {
  std::string_view kind;
  std::int64_t sequences = 1, fed = 1, context = 0;

  std::int64_t rows() const { return sequences * fed; }
  std::int64_t length() const { return context + fed; }
};

// The different experts that a forward chose, over all layers.
class ExpertCount : public ForwardObserver {
 public:
  void routing(std::int64_t layer, const RoutingPlan& plan) override {
    for (const int id : plan.ids) chosen_.emplace(layer, id);
    layers_.insert(layer);
  }
  // Of the routed experts' weights.
  double share(std::int64_t experts) const {
    return layers_.empty() ? 0
                           : static_cast<double>(chosen_.size()) /
                                 static_cast<double>(experts * std::ssize(layers_));
  }

 private:
  std::set<std::pair<std::int64_t, int>> chosen_;
  std::set<std::int64_t> layers_;
};

// A model, and its cache in the state before a step. The step may be repeated: it writes the same
// positions again.
class StepBench {
 public:
  StepBench(std::shared_ptr<LoadedModel> model, const Step& step)
      : model_(std::move(model)),
        step_(step),
        cache_(model_->decoder.kv_shape(), step.sequences, step.length()) {
    const std::int64_t vocabulary = model_->decoder.config().vocab;
    for (std::int64_t i = 0; i < step.sequences * step.length(); ++i) {
      tokens_.push_back(static_cast<int>((i + 1) * 7919 % vocabulary));
    }
    blocks_.resize(static_cast<std::size_t>(step.sequences));
    std::iota(blocks_.begin(), blocks_.end(), 0);
  }

  void fill(ThreadPool& threads) {
    Exec exec = model_->make_exec(threads, step_.sequences * step_.context);
    if (step_.context > 0) forward(exec, 0, step_.context);
  }

  void run(Exec& exec) { forward(exec, step_.context, step_.fed); }

  Work work(ThreadPool& threads) {
    ExpertCount count;
    model_->decoder.observe(&count);
    Exec exec = model_->make_exec(threads, step_.rows());
    run(exec);
    model_->decoder.observe(nullptr);
    const model::ModelConfig& config = model_->decoder.config();
    const model::ModelSize size = model::size_of(config);
    const auto of = [](std::int64_t n) { return static_cast<double>(n); };
    const model::ParameterCount& all = size.parameters;
    const double met = of(size.active.total() - size.active.embedding);
    const double read = of(all.total() - all.embedding - all.routed_experts) +
                        of(all.routed_experts) * count.share(config.moe ? config.moe->experts : 0);
    return {.flops = 2 * met * of(step_.rows()), .bytes = read * of(bytes_of(kStored))};
  }

 private:
  void forward(Exec& exec, std::int64_t first, std::int64_t count) {
    std::vector<BatchPart> parts;
    for (std::int64_t s = 0; s < step_.sequences; ++s) {
      parts.push_back({.tokens = std::span<const int>(tokens_).subspan(
                           static_cast<std::size_t>(s * step_.length() + first),
                           static_cast<std::size_t>(count)),
                       .first = first,
                       .blocks = std::span(blocks_).subspan(static_cast<std::size_t>(s), 1),
                       .wants_logits = true});
    }
    model_->decoder.forward(exec, make_batch(parts, step_.length()), cache_);
  }

  std::shared_ptr<LoadedModel> model_;
  Step step_;
  KvCache cache_;
  std::vector<int> tokens_;           // [S, length]
  std::vector<std::int32_t> blocks_;  // a block a sequence
};

bench::Case case_of(const std::string& name, std::shared_ptr<LoadedModel> model, const Step& step,
                    ThreadPool& threads) {
  auto bench = std::make_shared<StepBench>(model, step);
  bench->fill(threads);
  bench::Case c;
  c.row.topic = name;
  c.row.version = "decoder";
  c.row.shape =
      fmt::format("{}/S:{}/T:{}/context:{}", step.kind, step.sequences, step.rows(), step.length());
  c.row.compute = kStored;
  c.row.work = bench->work(threads);
  c.first = true;
  c.supported = [](const Device&) { return true; };
  c.bind = c.bind_first = [=](const testing::OperandSettings& settings) {
    bench::Call call;
    call.operands = std::make_unique<testing::Operands>(settings);
    call.run = [=](Exec& exec) { bench->run(exec); };
    call.workspace_bytes = model->decoder.workspace(step.rows());
    return call;
  };
  return c;
}

int run(int argc, char** argv) {
  ThreadPool threads(ThreadPool::default_size());
  bench::Suite suite("serve");
  for (const char* name : {"mixtral", "deepseek"}) {
    const auto folder = std::filesystem::path(OCTAVO_SOURCE_DIR) / "build/synthetic" / name;
    auto model =
        std::make_shared<LoadedModel>(find_model(folder), EngineChoice{.compute = kStored});
    for (const Step& step :
         {Step{.kind = "prefill", .fed = 256}, Step{.kind = "decode", .context = kContext},
          Step{.kind = "decode", .sequences = 8, .context = kContext}}) {
      suite.add(case_of(name, model, step, threads));
    }
  }
  return suite.main(argc, argv);
}

}  // namespace
}  // namespace octavo::serve

int main(int argc, char** argv) {
  try {
    return octavo::serve::run(argc, argv);
  } catch (const octavo::Error& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 2;
  }
}
