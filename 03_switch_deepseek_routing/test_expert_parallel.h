#pragma once
// A layer whose rows are spread over ranks, for the tests of both communicators.

#include <algorithm>
#include <vector>

#include "02_sparse_moe/routing.h"
#include "03_switch_deepseek_routing/expert_parallel.h"
#include "common/testing/random.h"

namespace octavo::switch_routing {

struct SpreadLayer {
  static constexpr std::int64_t D = 6, E = 8, k = 3;
  std::int64_t T = 0;
  std::vector<float> x, weights;  // [T, D], [E, D, D]
  RoutingPlan plan;               // of all T tokens

  explicit SpreadLayer(std::int64_t tokens) : T(tokens) {
    x = testing::normal(T * D, 1);
    weights = testing::normal(E * D * D, 2, 0.4);
    const std::vector<float> logits = testing::normal(T * E, 3, 2.0);
    plan = SoftmaxTopKRouter(E, k, true).route({logits.data(), {T, E}});
    if (T > 1) plan.ids[1] = -1;  // a slot that goes nowhere
    if (T > 1) plan.weights[1] = 0;
    sort_slots(plan);
  }

  // Expert e: rows times its matrix, and their squares, in an order of its own.
  RunExpert run() const {
    return [this](std::int64_t e, View<const float, 2> rows, View<float, 2> y) {
      for (std::int64_t m = 0; m < rows.extent(0); ++m) {
        for (std::int64_t n = 0; n < D; ++n) {
          float sum = 0;
          for (std::int64_t d = 0; d < D; ++d) {
            sum += rows(m, d) * weights[static_cast<std::size_t>((e * D + n) * D + d)];
          }
          y(m, n) = sum + sum * sum;
        }
      }
    };
  }

  // Rows begin .. end - 1 of the plan, as their rank sees them.
  RoutingPlan part(std::int64_t begin, std::int64_t end) const {
    RoutingPlan p{.tokens = end - begin, .experts = E, .top_k = k};
    p.ids.assign(plan.ids.begin() + begin * k, plan.ids.begin() + end * k);
    p.weights.assign(plan.weights.begin() + begin * k, plan.weights.begin() + end * k);
    sort_slots(p);
    return p;
  }

  // This rank's part of the layer's output; cut [R + 1] says whose rows are whose.
  std::vector<float> rank_output(Communicator& ranks, const std::vector<std::int64_t>& cut) const {
    const std::int64_t begin = cut[static_cast<std::size_t>(ranks.rank())],
                       end = cut[static_cast<std::size_t>(ranks.rank()) + 1];
    std::vector<float> y(static_cast<std::size_t>((end - begin) * D));
    expert_parallel_layer(ranks, part(begin, end), run(), {x.data() + begin * D, {end - begin, D}},
                          {y.data(), {end - begin, D}});
    return y;
  }
};

}  // namespace octavo::switch_routing
