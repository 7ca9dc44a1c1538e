#pragma once
// The contract that every version of a topic keeps, checked over (version x number type x shape):
//   1. its launches are legal on an A100 and an H100;
//   2. from poisoned outputs and scratch it gives the reference's values, and in 16-bit types an error of at most twice
//      that of the topic's first version;
//   3. it writes nothing outside its outputs and its scratch, and gives its scratch back;
//   4. a second run gives the same bits;
//   5. on the smallest shape: NaN and infinities in the inputs come out where the reference has them;
//   6. if it is batch-invariant: rows alone have the bits they have in the batch;
//   7. on the executor, on the smallest shape: every schedule gives the same bits.
//
// A chapter's test is:
//   class FfnContract : public octavo::testing::ContractTest {};
//   TEST_P(FfnContract, Holds) { check(); }
//   INSTANTIATE_TEST_SUITE_P(Ffn, FfnContract, ValuesIn(subjects(ffn_topic(), registry())), name_of_subject);
// The executor's and the GPU's tests have "simt" and "cuda" in their names; octavo_test gives them their labels by that.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
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
  // Makes the operands of a window of rows and runs the version, or the topic's first, on them. Returns complaints.
  std::function<std::vector<std::string>(Operands&)> run;
  std::function<std::vector<std::string>(Operands&)> run_first;  // empty for the first version itself
  std::function<Values(const Operands&)> reference;
  std::function<std::vector<LaunchConfig>(const Device&)> launches;  // empty when the version does not say

  friend void PrintTo(const Subject& s, std::ostream* out) { *out << s.label; }
};

// One sentence for each breach; empty when the contract is kept.
std::vector<std::string> breaches(const Subject& subject, const Device& device);

// Letters, digits and underscores, as GoogleTest wants them.
std::string name_of_subject(const ::testing::TestParamInfo<Subject>& info);

// The fixture: finds the device (a GPU's absence skips, or fails when OCTAVO_REQUIRE_GPU=1), skips what it does not
// support, and reports breaches.
class ContractTest : public ::testing::TestWithParam<Subject> {
 protected:
  void check();
};

namespace detail {

// Runs one version on operands that `make` builds: guarded and poisoned scratch of exactly the size it declares.
template <class Args>
std::vector<std::string> run_version(const Version<Args>& version, const Args& args, Operands& operands);

std::vector<std::string> run_in_guarded_scratch(const Device& device, DType compute, std::int64_t bytes,
                                                const std::function<void(Exec&)>& body);

}  // namespace detail

// Subjects of every version of the topic in the registry. Calls no CUDA: what a GPU supports is asked for an H100 here,
// and again for the device at hand when the test runs.
template <class Shape, class Args>
std::vector<Subject> subjects(const Topic<Shape, Args>& topic, std::shared_ptr<const Registry> registry);

template <class Args>
std::vector<std::string> detail::run_version(const Version<Args>& v, const Args& args, Operands& operands) {
  const Device& device = operands.settings().device;
  Prepared prepared;
  if (v.prepare != nullptr) prepared = v.prepare(operands.weights(), device);
  const std::int64_t bytes = v.workspace != nullptr ? v.workspace(args, device) : 0;
  return run_in_guarded_scratch(device, operands.settings().compute, bytes,
                                [&](Exec& exec) { v.run(exec, args, prepared); });
}

template <class Shape, class Args>
std::vector<Subject> subjects(const Topic<Shape, Args>& topic, std::shared_ptr<const Registry> registry) {
  std::vector<Subject> all;
  const auto shape_args = [topic](const Shape& shape, const Device& device, DType compute) {
    Operands nothing({.device = device, .compute = compute, .rows = {}, .plant = {}, .shapes_only = true});
    return topic.make(shape, nothing);
  };
  for (const Version<Args>& v : registry->versions<Args>(topic.name)) {
    const Device listing = v.backend == Backend::kCpu    ? cpu_device()
                           : v.backend == Backend::kSimt ? simt_device()
                                                         : kH100.device();
    for (DType compute : {DType::kF32, DType::kF16, DType::kBF16}) {
      const Version<Args>* first = nullptr;
      for (const Version<Args>& u : registry->versions<Args>(topic.name)) {
        if (first == nullptr && u.backend == v.backend && u.dtypes.contains(compute)) first = &u;
      }
      for (std::size_t i = 0; i < topic.shapes.size(); ++i) {
        const Shape shape = topic.shapes[i];
        const auto supported = [=, version = &v](const Device& device) {
          Device host = device;  // no memory is touched, so no GPU is either
          host.backend = Backend::kCpu;
          return version->takes(shape_args(shape, host, compute), device, compute);
        };
        if (!supported(listing)) continue;
        const auto run = [=](const Version<Args>* version) {
          return [=](Operands& operands) {
            const RowWindow& window = operands.settings().rows;
            const Shape part = window.count < 0 ? shape : topic.with_rows(shape, window.count);
            const Args args = topic.make(part, operands);
            return detail::run_version(*version, args, operands);
          };
        };
        Subject s;
        s.label = fmt::format("{}/{}/{}/{}/{}", name_of(v.backend), topic.name, v.name, name_of(compute),
                              topic.describe(shape));
        s.backend = v.backend;
        s.compute = compute;
        s.batch_invariant = v.batch_invariant;
        s.smallest = i == topic.smallest;
        s.rows = topic.rows ? topic.rows(shape) : 0;
        s.tolerance = topic.tolerance(shape, compute);
        s.nonfinite_inputs = topic.nonfinite_inputs;
        s.supported = supported;
        s.run = [registry, run = run(&v)](Operands& o) { return run(o); };
        if (first != &v) s.run_first = [registry, run = run(first)](Operands& o) { return run(o); };
        s.reference = [=](const Operands& o) { return topic.reference(shape, o); };
        if (v.launches != nullptr) {
          s.launches = [=, version = &v](const Device& device) {
            Device host = device;
            host.backend = Backend::kCpu;
            return version->launches(shape_args(shape, host, compute), device);
          };
        }
        all.push_back(std::move(s));
      }
    }
  }
  return all;
}

}  // namespace octavo::testing
