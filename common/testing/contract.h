#pragma once
// The contract that every version of a topic keeps, checked over (version x number type x shape):
//   1. its launches are legal on an A100 and an H100;
//   2. from poisoned outputs and scratch it gives the reference's values, and in 16-bit types an
//   error of at most twice
//      that of the topic's first version;
//   3. it writes nothing outside its outputs and its scratch, and gives its scratch back;
//   4. a second run gives the same bits;
//   5. on the smallest shape: NaN and infinities in the inputs come out where the reference has
//   them;
//   6. if it is batch-invariant: rows alone have the bits they have in the batch;
//   7. on the executor, on the smallest shape: every schedule gives the same bits;
//   8. on the smallest shape: with a byte of scratch less than it declares it throws Error, and
//   writes no output.
//
// A chapter's test is:
//   class FfnContract : public octavo::testing::ContractTest {};
//   TEST_P(FfnContract, Holds) { check(); }
//   INSTANTIATE_TEST_SUITE_P(Ffn, FfnContract, ValuesIn(subjects(ffn_topic(), registry())),
//   name_of_subject);
// The executor's and the GPU's tests have "simt" and "cuda" in their names; octavo_test gives them
// their labels by that.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/device/gpu_spec.h"
#include "common/device/registry.h"
#include "common/testing/topic.h"

namespace octavo::testing {

// One version on one shape with one number type, its types erased.
struct Subject {
  std::string label;  // "simt/ffn/gpu_v2_tiled/BF16/T:3/D:64"
  Backend backend = Backend::kCpu;
  DType compute = DType::kF32;
  bool batch_invariant = false;
  bool smallest = false;
  std::int64_t rows = 0;  // of the batch; 0: the operation has none
  Tolerance tolerance;
  std::vector<std::string> nonfinite_inputs;

  std::function<bool(const Device&)> supported;
  // Makes the operands of a window of rows and runs the version, or the topic's first, on them.
  // Returns complaints.
  std::function<std::vector<std::string>(Operands&)> run;
  std::function<std::vector<std::string>(Operands&)>
      run_first;  // empty for the first version itself
  // the version in a byte of scratch less than it declares; empty when it declares none
  std::function<void(Operands&)> run_in_less;
  std::function<Values(const Operands&)> reference;
  std::function<std::vector<LaunchConfig>(const Device&)>
      launches;  // empty when the version does not say

  friend void PrintTo(const Subject& s, std::ostream* out) { *out << s.label; }
};

// One sentence for each breach; empty when the contract is kept.
std::vector<std::string> breaches(const Subject& subject, const Device& device);

// Of a kernel on the executor: the schedules that give other bits than the first, or stop it,
// whatever the values are; a sentence each. Empty for other backends, and when the first run stops.
std::vector<std::string> order_shows(const Subject& subject, const Device& device);

// Letters, digits and underscores, as GoogleTest wants them.
std::string name_of_subject(const ::testing::TestParamInfo<Subject>& info);

// The fixture: finds the device (a GPU's absence skips, or fails when OCTAVO_REQUIRE_GPU=1), skips
// what it does not support, and reports breaches.
class ContractTest : public ::testing::TestWithParam<Subject> {
 protected:
  void check();
};

namespace detail {

// Runs one version on operands that `make` builds: guarded and poisoned scratch of exactly the size
// it declares, or so many bytes less.
template <class Args>
std::vector<std::string> run_version(const Version<Args>& version, const Args& args,
                                     Operands& operands, std::int64_t less = 0);

template <class Shape, class Args>
Subject subject_of(const Topic<Shape, Args>& topic, const std::shared_ptr<const Registry>& registry,
                   const Version<Args>& version, const Version<Args>& first, DType compute,
                   std::size_t index);

std::vector<std::string> run_in_guarded_scratch(const Device& device, DType compute,
                                                std::int64_t bytes,
                                                const std::function<void(Exec&)>& body);

}  // namespace detail

// Subjects of every version of the topic in the registry. Calls no CUDA: what a GPU supports is
// asked for an H100 here, and again for the device at hand when the test runs.
template <class Shape, class Args>
std::vector<Subject> subjects(const Topic<Shape, Args>& topic,
                              std::shared_ptr<const Registry> registry);

template <class Args>
std::vector<std::string> detail::run_version(const Version<Args>& v, const Args& args,
                                             Operands& operands, std::int64_t less) {
  const Device& device = operands.settings().device;
  Prepared prepared;
  if (v.prepare != nullptr) prepared = v.prepare(operands.weights(), device);
  const std::int64_t bytes = v.workspace != nullptr ? v.workspace(args, device) : 0;
  return run_in_guarded_scratch(device, operands.settings().compute, bytes - less,
                                [&](Exec& exec) { v.run(exec, args, prepared); });
}

template <class Shape, class Args>
Subject detail::subject_of(const Topic<Shape, Args>& topic,
                           const std::shared_ptr<const Registry>& registry, const Version<Args>& v,
                           const Version<Args>& first, DType compute, std::size_t index) {
  const Shape shape = topic.shapes[index];
  const Version<Args>* const version = &v;
  const auto run = [=](const Version<Args>* which) {
    return [=](Operands& operands) {
      (void)registry;  // keeps the versions alive
      const RowWindow& window = operands.settings().rows;
      const Args args =
          topic.make(window.count < 0 ? shape : topic.with_rows(shape, window.count), operands);
      return run_version(*which, args, operands);
    };
  };
  Subject s;
  s.label = fmt::format("{}/{}/{}/{}/{}", name_of(v.backend), topic.name, v.name, name_of(compute),
                        topic.describe(shape));
  s.backend = v.backend;
  s.compute = compute;
  s.batch_invariant = v.batch_invariant;
  s.smallest = index == topic.smallest;
  s.rows = topic.rows ? topic.rows(shape) : 0;
  s.tolerance = topic.tolerance(shape, compute);
  s.nonfinite_inputs = topic.nonfinite_inputs;
  s.supported = [=](const Device& device) {
    return version->takes(args_of_shape(topic, shape, compute), device, compute);
  };
  s.run = run(&v);
  if (&first != &v) s.run_first = run(&first);
  const Device listing = v.backend == Backend::kCuda ? kH100.device() : device_of(v.backend);
  if (v.workspace != nullptr && v.workspace(args_of_shape(topic, shape, compute), listing) > 0) {
    s.run_in_less = [=](Operands& operands) {
      (void)registry;
      (void)run_version(*version, topic.make(shape, operands), operands, 1);
    };
  }
  s.reference = [=](const Operands& operands) { return topic.reference(shape, operands); };
  if (v.launches != nullptr) {
    s.launches = [=](const Device& device) {
      return version->launches(args_of_shape(topic, shape, compute), device);
    };
  }
  return s;
}

template <class Shape, class Args>
std::vector<Subject> subjects(const Topic<Shape, Args>& topic,
                              std::shared_ptr<const Registry> registry) {
  std::vector<Subject> all;
  const std::span<const Version<Args>> versions = registry->versions<Args>(topic.name);
  for (const Version<Args>& v : versions) {
    const Device listing = v.backend == Backend::kCuda ? kH100.device() : device_of(v.backend);
    for (DType compute : {DType::kF32, DType::kF16, DType::kBF16}) {
      if (!v.dtypes.contains(compute)) continue;
      for (std::size_t i = 0; i < topic.shapes.size(); ++i) {
        const Args shape = args_of_shape(topic, topic.shapes[i], compute);
        const auto first =
            std::find_if(versions.begin(), versions.end(), [&](const Version<Args>& u) {
              return u.backend == v.backend && u.takes(shape, listing, compute);
            });
        if (!v.takes(shape, listing, compute)) continue;
        all.push_back(detail::subject_of(topic, registry, v, *first, compute, i));
      }
    }
  }
  return all;
}

}  // namespace octavo::testing
