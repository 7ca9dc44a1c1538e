// What does not fit an operation of this chapter is refused, by the reference and by every version.

#include <gtest/gtest.h>

#include "03_switch_deepseek_routing/topics.h"
#include "03_switch_deepseek_routing/versions.h"
#include "common/base/error.h"
#include "common/base/threads.h"

namespace octavo::switch_routing {
namespace {

// The versions that run without a GPU.
template <class Args>
std::vector<Version<Args>> versions(std::string_view topic) {
  static const auto registry = registry_of(append_versions);
  std::vector<Version<Args>> found;
  for (const Version<Args>& v : registry->versions<Args>(topic)) {
    if (v.backend != Backend::kCuda) found.push_back(v);
  }
  return found;
}

template <class Args>
void expect_refused(std::string_view topic, void (*reference)(const Args&), const Args& args,
                    int line) {
  EXPECT_THROW(reference(args), Error) << "line " << line;
  static ThreadPool threads(1);
  for (const Version<Args>& v : versions<Args>(topic)) {
    Exec exec(device_of(v.backend), DType::kF32, threads, 1 << 16);
    EXPECT_THROW(v.run(exec, args, Prepared()), Error) << v.name << ", line " << line;
  }
}

TEST(GroupedTopK, WhatDoesNotFitIsRefused) {
  const std::vector<float> z(64);
  std::vector<int> ids(64);
  std::vector<float> weights(64);
  const GroupedTopKArgs good{.logits = {z.data(), {2, 4}},
                             .bias = {z.data(), {4}},
                             .routing = {.experts = 4, .top_k = 2},
                             .ids = {ids.data(), {2, 2}},
                             .weights = {weights.data(), {2, 2}}};
  EXPECT_NO_THROW(grouped_top_k_reference(good));
  const auto refused = [&](int line, auto spoil) {
    GroupedTopKArgs bad = good;
    spoil(bad);
    expect_refused("grouped_top_k", grouped_top_k_reference, bad, line);
  };
  refused(__LINE__, [&](auto& a) { a.logits = {z.data(), {2, 3}}; });
  refused(__LINE__, [&](auto& a) { a.bias = {z.data(), {3}}; });
  refused(__LINE__, [&](auto& a) { a.weights = {weights.data(), {2, 1}}; });
  refused(__LINE__, [&](auto& a) { a.routing.top_groups = 2; });
  refused(__LINE__, [&](auto& a) {
    a.ids = {ids.data(), {1, 2}};
    a.weights = {weights.data(), {1, 2}};
  });
  refused(__LINE__, [&](auto& a) {
    a.ids = {ids.data(), {2, 3}};
    a.weights = {weights.data(), {2, 3}};
  });
}

TEST(CapacityDispatch, WhatDoesNotFitIsRefused) {
  std::vector<int> ids(64), place(64), load(64);
  std::vector<float> weights(64), kept(64);
  const CapacityDispatchArgs good{.ids = {ids.data(), {4, 2}},
                                  .weights = {weights.data(), {4, 2}},
                                  .capacity = 1,
                                  .place = {place.data(), {4, 2}},
                                  .kept = {kept.data(), {4, 2}},
                                  .load = {load.data(), {3}}};
  EXPECT_NO_THROW(capacity_dispatch_reference(good));
  const auto refused = [&](int line, auto spoil) {
    CapacityDispatchArgs bad = good;
    spoil(bad);
    expect_refused("capacity_dispatch", capacity_dispatch_reference, bad, line);
  };
  refused(__LINE__, [&](auto& a) { a.weights = {weights.data(), {2, 4}}; });
  refused(__LINE__, [&](auto& a) { a.place = {place.data(), {2, 4}}; });
  refused(__LINE__, [&](auto& a) { a.kept = {kept.data(), {2, 4}}; });
  refused(__LINE__, [&](auto& a) { a.capacity = -1; });
  refused(__LINE__, [&](auto& a) {
    std::fill(ids.begin(), ids.end(), -1);  // there is no expert to ask for
    a.load = {load.data(), {0}};
  });
}

// What the headers of the versions promise: the engine asks `supports` and trusts the answer.
TEST(GroupedTopK, VersionsTakeUpTo1024Experts) {
  for (const auto& v : versions<GroupedTopKArgs>("grouped_top_k")) {
    const auto takes = [&](const DeepseekRouting& r) {
      return v.takes({.routing = r}, device_of(v.backend), DType::kF32);
    };
    EXPECT_TRUE(takes({.experts = 1024, .top_k = 32})) << v.name;
    EXPECT_FALSE(takes({.experts = 1025, .top_k = 32})) << v.name;
    EXPECT_EQ(takes({.experts = 1024, .top_k = 33}), v.backend == Backend::kCpu) << v.name;
  }
}

TEST(CapacityDispatch, KernelsTakeUpTo1024Experts) {
  for (const auto& v : versions<CapacityDispatchArgs>("capacity_dispatch")) {
    const auto takes = [&](std::int64_t E) {
      return v.takes({.load = {nullptr, {E}}}, device_of(v.backend), DType::kF32);
    };
    EXPECT_TRUE(takes(1024)) << v.name;
    EXPECT_EQ(takes(1025), v.backend == Backend::kCpu) << v.name;
  }
}

// A capacity is shared by the whole batch, and the engine picks what is batch-invariant only.
TEST(CapacityDispatch, IsNothingForTheEngine) {
  const CapacityDispatchArgs shape{.load = {nullptr, {8}}};
  const auto registry = registry_of(append_versions);
  for (const Device& device : {cpu_device(), simt_device()}) {
    EXPECT_THROW(
        registry->pick<CapacityDispatchArgs>("capacity_dispatch", shape, device, DType::kF32),
        Error);
  }
}

}  // namespace
}  // namespace octavo::switch_routing
