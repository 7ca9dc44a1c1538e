#include "03_switch_deepseek_routing/expert_parallel.h"

#include <algorithm>
#include <numeric>

#include "common/base/counted.h"
#include "common/base/error.h"

namespace octavo::switch_routing {
namespace {

// Where the received rows are wanted: row i of the order by expert is row `order[i]` as received.
// Rows arrive by rank, and by expert within a rank: a second sort brings each expert's together.
struct SecondSort {
  std::vector<std::size_t> order;
  std::vector<int> rows;  // of each local expert
};

SecondSort second_sort(const std::vector<std::vector<int>>& counts) {
  const std::size_t experts = counts.front().size();
  SecondSort sort{.order = {}, .rows = std::vector<int>(experts)};
  for (std::size_t e = 0; e < experts; ++e) {
    std::size_t begin = 0;
    for (const std::vector<int>& of_rank : counts) {
      std::size_t at = begin;
      for (std::size_t f = 0; f < experts; ++f) {
        const auto n = static_cast<std::size_t>(of_rank[f]);
        for (std::size_t i = 0; f == e && i < n; ++i) sort.order.push_back(at + i);
        at += n;
      }
      begin = at;
      sort.rows[e] += of_rank[e];
    }
  }
  return sort;
}

// out row i = in row index[i], or out row index[i] = in row i where `scatter`.
std::vector<float> permute(const std::vector<float>& in, const std::vector<std::size_t>& index,
                           std::int64_t D, bool scatter) {
  std::vector<float> out(in.size());
  for (std::size_t i = 0; i < index.size(); ++i) {
    const auto from = static_cast<std::int64_t>(scatter ? i : index[i]);
    const auto to = static_cast<std::int64_t>(scatter ? index[i] : i);
    std::copy_n(in.data() + from * D, D, out.data() + to * D);
  }
  return out;
}

// The experts of this rank over rows [M, D] that stand by expert.
std::vector<float> run_local(const SecondSort& sort, const std::vector<float>& rows,
                             std::int64_t first, std::int64_t D, const RunExpert& run) {
  std::vector<float> result(rows.size());
  std::int64_t at = 0;
  for (std::size_t e = 0; e < sort.rows.size(); ++e) {
    const std::int64_t M = sort.rows[e];
    if (M == 0) continue;
    run(first + static_cast<std::int64_t>(e), {rows.data() + at * D, {M, D}},
        {result.data() + at * D, {M, D}});
    at += M;
  }
  return result;
}

// Equation 3 of chapter 02 from the results in the plan's order.
void combine(const RoutingPlan& plan, const std::vector<float>& results, View<float, 2> y) {
  const std::int64_t D = y.extent(1);
  std::vector<std::int64_t> row_of(plan.ids.size(), -1);  // of a slot
  for (std::size_t i = 0; i < static_cast<std::size_t>(plan.offsets.back()); ++i) {
    row_of[static_cast<std::size_t>(plan.order[i])] = static_cast<std::int64_t>(i);
  }
  for (std::int64_t t = 0; t < plan.tokens; ++t) {
    for (std::int64_t d = 0; d < D; ++d) {
      double sum = 0;
      for (std::int64_t s = t * plan.top_k; s < (t + 1) * plan.top_k; ++s) {
        const std::int64_t row = row_of[static_cast<std::size_t>(s)];
        if (row < 0) continue;
        sum += static_cast<double>(plan.weights[static_cast<std::size_t>(s)]) *
               static_cast<double>(results[static_cast<std::size_t>(row * D + d)]);
      }
      y(t, d) = static_cast<float>(sum);
    }
  }
}

}  // namespace

void expert_parallel_layer(Communicator& ranks, const RoutingPlan& plan, const RunExpert& run,
                           View<const float, 2> x, View<float, 2> y) {
  const std::int64_t R = ranks.ranks(), D = x.extent(1), each = plan.experts / R;
  require(plan.experts % R == 0, "expert parallelism: {} do not divide {}", counted(R, "rank"),
          counted(plan.experts, "expert"));
  require(x.extent(0) == plan.tokens && y.extents() == x.extents(),
          "expert parallelism: x has {}, y {}, the plan is for {}", counted(x.extent(0), "row"),
          y.extent(0), counted(plan.tokens, "token"));
  require(std::ssize(plan.offsets) == plan.experts + 1 &&
              std::ssize(plan.ids) == plan.tokens * plan.top_k &&
              plan.weights.size() == plan.ids.size() && plan.order.size() == plan.ids.size(),
          "expert parallelism: {} ids, {} weights, {} places and {} offsets are no plan for {} "
          "choices of {} experts for {} tokens",
          plan.ids.size(), plan.weights.size(), plan.order.size(), plan.offsets.size(), plan.top_k,
          plan.experts, plan.tokens);
  // 1. This rank's slots by expert, and so by rank: their rows, and how many each expert gets.
  std::vector<float> rows;
  for (int i = 0; i < plan.offsets.back(); ++i) {
    const float* const row = x.data() + plan.order[static_cast<std::size_t>(i)] / plan.top_k * D;
    rows.insert(rows.end(), row, row + D);
  }
  const std::vector<std::int64_t> load = plan.counts();
  std::vector<std::vector<int>> send(static_cast<std::size_t>(R));
  for (std::size_t e = 0; e < load.size(); ++e) {
    send[e / static_cast<std::size_t>(each)].push_back(static_cast<int>(load[e]));
  }
  // 2. The counts, then the rows.
  const std::vector<std::vector<int>> receive = ranks.exchange_counts(send);
  const auto totals = [](const std::vector<std::vector<int>>& counts) {
    std::vector<int> sums;
    for (const auto& c : counts) sums.push_back(std::accumulate(c.begin(), c.end(), 0));
    return sums;
  };
  const std::vector<int> out = totals(send), in = totals(receive);
  const std::vector<float> arrived = ranks.exchange_rows(rows, out, in, D);
  // 3. The second sort, the experts, and the way back.
  const SecondSort sort = second_sort(receive);
  const std::vector<float> results =
      run_local(sort, permute(arrived, sort.order, D, false), ranks.rank() * each, D, run);
  combine(plan, ranks.exchange_rows(permute(results, sort.order, D, true), in, out, D), y);
}

double all_to_all_bytes(std::int64_t T, std::int64_t k, std::int64_t D, std::int64_t R,
                        double bytes_out, double bytes_back) {
  require(T >= 0 && k >= 0 && D >= 0 && R >= 1,
          "expert parallelism: {} tokens, {} experts each, width {}, {} ranks", T, k, D, R);
  // In double: the product of three sizes need not fit 64 bits.
  const double values = static_cast<double>(T) * static_cast<double>(k) * static_cast<double>(D);
  return values * (bytes_out + bytes_back) * static_cast<double>(R - 1) / static_cast<double>(R);
}

}  // namespace octavo::switch_routing
