#include "03_switch_deepseek_routing/topics.h"

#include <cmath>
#include <memory>

#include "common/base/philox.h"

namespace octavo::switch_routing {
namespace {

using testing::Operands;
using testing::Tolerance;
using testing::Values;

template <class T>
std::vector<T> as(const std::vector<double>& v) {
  return {v.begin(), v.end()};
}
template <class T>
std::vector<double> doubles(const std::vector<T>& v) {
  return {v.begin(), v.end()};
}

Values gate_values(const GateShape& s, const Operands& o) {
  const std::int64_t E = s.routing.experts, k = s.routing.top_k;
  const std::vector<float> logits = as<float>(o.values("logits"));
  const std::vector<float> bias = s.bias ? as<float>(o.values("bias")) : std::vector<float>();
  const std::int64_t T = std::ssize(logits) / E;
  std::vector<int> ids(static_cast<std::size_t>(T * k));
  std::vector<float> weights(ids.size());
  grouped_top_k_reference({.logits = {logits.data(), {T, E}},
                           .bias = {bias.data(), {std::ssize(bias)}},
                           .routing = s.routing,
                           .ids = {ids.data(), {T, k}},
                           .weights = {weights.data(), {T, k}}});
  return {{"ids", doubles(ids)}, {"weights", doubles(weights)}};
}

// An expert for slot i, the popular ones more often, and now and then none. A token's experts may
// repeat: the counting does not mind.
int expert_of(std::int64_t i, std::int64_t E) {
  const double u =
      static_cast<double>(uniform(3, 0, static_cast<std::uint64_t>(i), Purpose::kTest));
  return u < 0.05 ? -1 : static_cast<int>(static_cast<double>(E) * u * u);
}

}  // namespace

GateShape deepseek_v3_gate(std::int64_t T) {
  return {T, {.experts = 256, .top_k = 8, .groups = 8, .top_groups = 4, .scaling = 2.5}};
}

GateShape deepseek_v2_gate(std::int64_t T) {
  return {.T = T,
          .routing = {.experts = 160,
                      .top_k = 6,
                      .groups = 8,
                      .top_groups = 3,
                      .normalize = false,
                      .scaling = 16,
                      .score = GateScore::kSoftmax,
                      .group_score = GroupScore::kBest},
          .bias = false};
}

testing::Topic<GateShape, GroupedTopKArgs> grouped_top_k_topic() {
  testing::Topic<GateShape, GroupedTopKArgs> topic;
  topic.name = "grouped_top_k";
  topic.shapes = {{1, {.experts = 1, .top_k = 1}},
                  {3, {.experts = 3, .top_k = 2, .normalize = false, .scaling = 3}},
                  {5, {.experts = 60, .top_k = 4, .score = GateScore::kSoftmax}, false},
                  {9, {.experts = 16, .top_k = 4, .groups = 4, .top_groups = 2, .scaling = 2.5}},
                  {4, {.experts = 60, .top_k = 5, .groups = 3, .top_groups = 2}},
                  deepseek_v3_gate(9),
                  deepseek_v2_gate(7),
                  {2, {.experts = 384, .top_k = 8, .scaling = 2.827}},
                  {2, {.experts = 1000, .top_k = 32}},
                  {0, {.experts = 8, .top_k = 2}}};
  topic.smallest = 5;  // two blocks and a tail of rows, groups and bias
  topic.describe = [](const GateShape& s) {
    return fmt::format("T:{}/E:{}/k:{}/G:{}_{}/{}{}", s.T, s.routing.experts, s.routing.top_k,
                       s.routing.groups, s.routing.top_groups,
                       s.routing.score == GateScore::kSoftmax ? "softmax" : "sigmoid",
                       s.bias ? "_bias" : "");
  };
  topic.make = [](const GateShape& s, Operands& o) {
    const std::int64_t E = s.routing.experts, k = s.routing.top_k;
    GroupedTopKArgs a{.logits = o.row_input<float>("logits", {s.T, E}, o.normal("logits", 2)),
                      .routing = s.routing};
    // All below zero, so that a mask or a sentinel of 0 would win.
    const testing::Fill normal = o.normal("bias", 0.7);
    if (s.bias) {
      a.bias =
          o.input<float>("bias", {E}, [=](std::int64_t i) { return -1.5 - std::abs(normal(i)); });
    }
    a.ids = o.row_output<int>("ids", {s.T, k});
    a.weights = o.row_output<float>("weights", {s.T, k});
    return a;
  };
  topic.reference = gate_values;
  topic.tolerance = [](const GateShape&, DType) {  // a few roundings of exp and the sum
    return Tolerance{.absolute = 1e-6, .relative = 1e-5};
  };
  topic.work = [](const GateShape& s, DType) {
    return grouped_top_k_work(s.T, s.routing.experts, s.routing.top_k);
  };
  topic.rows = [](const GateShape& s) { return s.T; };
  topic.with_rows = [](GateShape s, std::int64_t rows) {
    s.T = rows;
    return s;
  };
  topic.nonfinite_inputs = {"logits"};
  return topic;
}

testing::Topic<DispatchShape, CapacityDispatchArgs> capacity_dispatch_topic() {
  testing::Topic<DispatchShape, CapacityDispatchArgs> topic;
  topic.name = "capacity_dispatch";
  topic.shapes = {
      {1, 1, 1, 1},     {3, 2, 2, 0},    {5, 3, 2, 2},
      {127, 60, 2, 4},  {1300, 8, 1, 9}, {257, 5, 4, 300},
      {65, 1024, 2, 1}, {0, 4, 2, 1},    {5, 3, 2, std::int64_t{1} << 31}};  // beyond an int
  topic.smallest = 5;  // two chunks and a tail; four choices
  topic.describe = [](const DispatchShape& s) {
    return fmt::format("T:{}/E:{}/k:{}/C:{}", s.T, s.E, s.k, s.C);
  };
  topic.make = [](const DispatchShape& s, Operands& o) {
    return CapacityDispatchArgs{
        .ids =
            o.input<int>("ids", {s.T, s.k}, [E = s.E](std::int64_t i) { return expert_of(i, E); }),
        .weights = o.input<float>("weights", {s.T, s.k}),
        .capacity = s.C,
        .place = o.output<int>("place", {s.T, s.k}),
        .kept = o.output<float>("kept", {s.T, s.k}),
        .load = o.output<int>("load", {s.E})};
  };
  topic.reference = [](const DispatchShape& s, const Operands& o) {
    const std::vector<int> ids = as<int>(o.values("ids"));
    const std::vector<float> weights = as<float>(o.values("weights"));
    std::vector<int> place(ids.size()), load(static_cast<std::size_t>(s.E));
    std::vector<float> kept(ids.size());
    capacity_dispatch_reference({.ids = {ids.data(), {s.T, s.k}},
                                 .weights = {weights.data(), {s.T, s.k}},
                                 .capacity = s.C,
                                 .place = {place.data(), {s.T, s.k}},
                                 .kept = {kept.data(), {s.T, s.k}},
                                 .load = {load.data(), {s.E}}});
    return Values{{"place", doubles(place)}, {"kept", doubles(kept)}, {"load", doubles(load)}};
  };
  topic.tolerance = [](const DispatchShape&, DType) {
    return Tolerance{.absolute = 0, .relative = 0};
  };
  topic.work = [](const DispatchShape& s, DType) { return capacity_dispatch_work(s.T, s.E, s.k); };
  return topic;
}

}  // namespace octavo::switch_routing
