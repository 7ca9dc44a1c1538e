// Equation 3 on packed weights: x, y [T, D], gate and up [E, F, D], down [E, D, F].
//
// Idea: the experts of a layer are many small products. Run one after another, each splits its work
// over the threads and waits for the last of them. Here all of them are one list of tasks: a task
// is a block of an expert's rows times a few strips of its weights (packed_matrix.h), with the
// activation on its tile of H while that is in a cache. Experts with few rows read their weights
// from memory straight into the sums, those with many unpack them once for a block of rows; a
// batch's skew changes the list and not the way it is worked off. The slots' rows lie together in
// expert order, as many as there are slots; nothing is padded.
//
// What limits it: as the packed product, for each expert: up to kFewRows rows the reading of its
// weights, for many the multiply-adds.
//
// Row bits: an output's sum is the packed product's chain, the weighted sum goes in slot order;
// neither depends on the batch.
//
// FLOPs: 6 T k D F when gated, else 4 T k D F. Bytes: the weights of the experts that have rows,
// once for every kRowBlock of them. Scratch: T k (D + 2 F) floats.

#include <optional>
#include <utility>

#include "01_dense_ffn/ffn_math.h"
#include "01_dense_ffn/packed_matrix.h"
#include "02_sparse_moe/cpu_versions.h"

namespace octavo::sparse_moe {
namespace {

using dense_ffn::kRowBlock;
using dense_ffn::PackedMatrix;
using dense_ffn::Range;

struct PackedExperts {
  std::vector<PackedMatrix<>> gate;  // [E] of [F, D]; none: not gated
  std::vector<PackedMatrix<>> up;    // [E] of [F, D]
  std::vector<PackedMatrix<>> down;  // [E] of [D, F]
};

Prepared prepare(const WeightSet& weights, const Device&) {
  ExpertStack stack{.up = weights["up"], .down = weights["down"]};
  for (const NamedWeight& w : weights.all()) {
    if (w.name == "gate") stack.gate = w.tensor;
  }
  check_shapes(stack);
  PackedExperts packed;
  for (std::int64_t e = 0; e < stack.experts(); ++e) {
    const FfnWeights w = stack.expert(e);
    if (stack.gated()) packed.gate.emplace_back(w.gate);
    packed.up.emplace_back(w.up);
    packed.down.emplace_back(w.down);
  }
  return Prepared::of(std::move(packed));
}

// Scratch of a call. Place p of the sorted order holds slot order[p].
struct Scratch {
  View<float, 2> rows;    // [T k, D] x by place; then the experts' outputs by place
  View<float, 2> hidden;  // [T k, F]
  View<float, 2> gated;   // [T k, F]; empty when not gated
  View<int, 1> place;     // [T k] where a slot is; -1: nowhere
  View<int, 1> blocks;    // [E + 1] blocks of rows before expert e
};

std::int64_t workspace(const ExpertsArgs& a, const Device&) {
  const std::int64_t n = a.slots();
  return Workspace::bytes_for<float>(n * a.weights.width()) +
         (a.weights.gated() ? 2 : 1) * Workspace::bytes_for<float>(n * a.weights.hidden()) +
         Workspace::bytes_for<int>(n) + Workspace::bytes_for<int>(a.weights.experts() + 1);
}

Scratch take(Workspace& workspace, const ExpertsArgs& a) {
  const std::int64_t n = a.slots(), D = a.weights.width(), F = a.weights.hidden();
  Scratch s;
  s.rows = {workspace.take<float>(n * D).data(), {n, D}};
  s.hidden = {workspace.take<float>(n * F).data(), {n, F}};
  if (a.weights.gated()) s.gated = {workspace.take<float>(n * F).data(), {n, F}};
  s.place = workspace.take<int>(n);
  s.blocks = workspace.take<int>(a.weights.experts() + 1);
  return s;
}

// Cuts every expert's rows into blocks and calls body(e, rows, strips) for each block and each
// group of strips, spread over the threads. `rows` are places.
template <class Body>
void for_each_tile(ThreadPool& threads, const ExpertsArgs& a, const Scratch& s, std::int64_t strips,
                   const Body& body) {
  const std::int64_t E = a.weights.experts(), blocks = s.blocks(E);
  // Many strips to a copy of the rows; but eight tasks or more a thread, so that all end together.
  const std::int64_t each =
      std::clamp<std::int64_t>(strips * blocks / (8 * threads.size()), 1, dense_ffn::kGroup);
  const std::int64_t groups = (strips + each - 1) / each;
  const auto task = [&](std::int64_t i) {
    const std::int64_t block = i / groups, first = i % groups * each;
    const int* const next =
        std::upper_bound(s.blocks.data(), s.blocks.data() + E + 1, static_cast<int>(block));
    const std::int64_t e = next - s.blocks.data() - 1;
    const std::int64_t of = s.blocks(e + 1) - s.blocks(e), b = block - s.blocks(e);
    const std::int64_t begin = a.offsets(e), M = a.offsets(e + 1) - begin;
    body(e, Range{begin + b * M / of, begin + (b + 1) * M / of},
         Range{first, std::min(strips, first + each)});
  };
  threads.parallel_for(blocks * groups, [&task](std::int64_t i) { task(i); });
}

constexpr std::int64_t kTokensOfATask = 16;

// Calls body(t) for every token, spread over the threads.
template <class Body>
void for_each_token(ThreadPool& threads, std::int64_t T, const Body& body) {
  const auto task = [&](std::int64_t i) {
    const std::int64_t end = std::min(T, (i + 1) * kTokensOfATask);
    for (std::int64_t t = i * kTokensOfATask; t < end; ++t) body(t);
  };
  threads.parallel_for((T + kTokensOfATask - 1) / kTokensOfATask,
                       [&task](std::int64_t i) { task(i); });
}

// Sets place and blocks, and puts the rows of x where their experts find them together.
void gather(ThreadPool& threads, const ExpertsArgs& a, const Scratch& s) {
  const std::int64_t E = a.weights.experts(), k = a.top_k();
  s.blocks(0) = 0;
  for (std::int64_t e = 0; e < E; ++e) {
    const int M = a.offsets(e + 1) - a.offsets(e);
    s.blocks(e + 1) =
        s.blocks(e) + (M + static_cast<int>(kRowBlock) - 1) / static_cast<int>(kRowBlock);
  }
  std::fill_n(s.place.data(), s.place.size(), -1);
  for (int p = 0; p < a.offsets(E); ++p) s.place(a.order(p)) = p;
  const auto x = a.x.as<const float, 2>();
  for_each_token(threads, a.rows(), [&](std::int64_t t) {
    for (std::int64_t j = 0; j < k; ++j) {
      const int p = s.place(t * k + j);
      if (p >= 0) std::copy_n(x(t).data(), x.extent(1), s.rows(p).data());
    }
  });
}

// hidden = act(gated) * hidden, or act(hidden), for some columns of all rows.
void activate_columns(Activation activation, View<const float, 2> gated, View<float, 2> hidden,
                      Range columns) {
  for (std::int64_t m = 0; m < hidden.extent(0); ++m) {
    for (std::int64_t n = columns.begin; n < columns.end; ++n) {
      hidden(m, n) = gated.size() > 0 ? activate(activation, gated(m, n)) * hidden(m, n)
                                      : activate(activation, hidden(m, n));
    }
  }
}

// Equation 3's sum for one token, in slot order.
void combine(const ExpertsArgs& a, const Scratch& s, std::int64_t t) {
  const auto y = a.y(t);
  std::fill_n(y.data(), y.size(), 0.0f);
  for (std::int64_t j = 0; j < a.top_k(); ++j) {
    const int p = s.place(t * a.top_k() + j);
    if (p < 0) continue;
    const float weight = a.weight(t, j);
    const float* const out = s.rows(p).data();
    for (std::int64_t d = 0; d < y.size(); ++d) y(d) += weight * out[d];
  }
}

void run(Exec& exec, const ExpertsArgs& a, const Prepared& prepared) {
  check_shapes(a);
  const auto& w = prepared.get<PackedExperts>();
  require(std::ssize(w.up) == a.weights.experts() && w.up.front().outputs() == a.weights.hidden() &&
              w.up.front().inputs() == a.weights.width() && w.gate.empty() != a.weights.gated(),
          "experts: the packed weights are {} of [{}, {}], the call's up is {}", w.up.size(),
          w.up.front().outputs(), w.up.front().inputs(), a.weights.up.describe());
  const Workspace::Scope scope(exec.workspace);
  const Scratch s = take(exec.workspace, a);
  gather(exec.threads, a, s);
  for_each_tile(exec.threads, a, s, w.up.front().strips(),
                [&](std::int64_t e, Range rows, Range strips) {
                  const auto i = static_cast<std::size_t>(e);
                  const View<const float, 2> x = s.rows.rows(rows.begin, rows.end);
                  const View<float, 2> h = s.hidden.rows(rows.begin, rows.end);
                  View<float, 2> g;
                  w.up[i].product(x, h, strips);
                  if (a.weights.gated()) {
                    g = s.gated.rows(rows.begin, rows.end);
                    w.gate[i].product(x, g, strips);
                  }
                  activate_columns(a.weights.activation, g, h, w.up[i].columns(strips));
                });
  for_each_tile(
      exec.threads, a, s, w.down.front().strips(), [&](std::int64_t e, Range rows, Range strips) {
        w.down[static_cast<std::size_t>(e)].product(s.hidden.rows(rows.begin, rows.end),
                                                    s.rows.rows(rows.begin, rows.end), strips);
      });
  for_each_token(exec.threads, a.rows(), [&](std::int64_t t) { combine(a, s, t); });
}

}  // namespace

Version<ExpertsArgs> experts_cpu_v1_grouped() {
  return {.name = "cpu_v1_grouped",
          .backend = Backend::kCpu,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .prepare = prepare,
          .workspace = workspace,
          .run = run};
}

}  // namespace octavo::sparse_moe
