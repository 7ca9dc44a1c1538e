#pragma once
// What a version must not be asked for. A shape that it does not support gives an Error and
// untouched outputs, or the right result; operands that make no sense an Error and untouched
// memory.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/testing/contract.h"

namespace octavo::testing {
namespace detail {

// One sentence for each output that is not what the reference says.
template <class Shape, class Args>
std::vector<std::string> differences(const Topic<Shape, Args>& topic, const Shape& shape,
                                     Operands& o) {
  std::vector<std::string> found;
  const Values want = topic.reference(shape, o);
  for (const std::string& name : o.outputs()) {
    const std::vector<double> got = o.result(name);
    const std::vector<float> g(got.begin(), got.end()),
        w(want.at(name).begin(), want.at(name).end());
    const Comparison c =
        compare(g.data(), w.data(), std::ssize(g), topic.tolerance(shape, o.settings().compute));
    if (!c.ok) found.push_back(name + ": " + c.message);
  }
  return found;
}

}  // namespace detail

// Every version of the topic on the host and on the executor, on those of the topic's shapes that
// it does not support. One sentence for each breach.
template <class Shape, class Args>
std::vector<std::string> refusal_breaches(const Topic<Shape, Args>& topic,
                                          const Registry& registry) {
  std::vector<std::string> breaches;
  for (const Version<Args>& v : registry.versions<Args>(topic.name)) {
    if (v.backend == Backend::kCuda) continue;
    for (const DType compute : {DType::kF32, DType::kBF16}) {
      for (const Shape& shape : topic.shapes) {
        OperandSettings settings;
        settings.device = device_of(v.backend);
        settings.compute = compute;
        const Args extents = args_of_shape(topic, shape, compute);
        if (!v.dtypes.contains(compute) || v.takes(extents, settings.device, compute)) continue;
        Operands o(settings);
        std::vector<std::string> found;
        try {
          found = detail::run_version(v, topic.make(shape, o), o);
          for (const std::string& f : detail::differences(topic, shape, o)) found.push_back(f);
        } catch (const Error&) {
          for (const std::string& name : o.outputs()) {
            if (!o.is_untouched(name)) found.push_back(name + ": was written before the refusal");
          }
        }
        for (const std::string& f : o.damage()) found.push_back(f);
        for (const std::string& f : found) {
          breaches.push_back(fmt::format("{} {} {} {}: {}", topic.name, v.name, name_of(compute),
                                         topic.describe(shape), f));
        }
      }
    }
  }
  return breaches;
}

// Every version of the topic on these backends, on a shape that it takes, after `spoil(args)` has
// made something senseless of its arguments: it must throw Error, and write neither outputs nor
// inputs. One sentence for each breach.
template <class Shape, class Args, class Spoil>
std::vector<std::string> misuse_breaches(const Topic<Shape, Args>& topic, const Registry& registry,
                                         const std::vector<Backend>& backends, const Shape& shape,
                                         const Spoil& spoil) {
  std::vector<std::string> breaches;
  for (const Version<Args>& v : registry.versions<Args>(topic.name)) {
    for (const DType compute : {DType::kF32, DType::kBF16}) {
      OperandSettings settings;
      settings.device = device_of(v.backend);
      settings.compute = compute;
      if (std::ranges::find(backends, v.backend) == backends.end()) continue;
      if (!v.takes(args_of_shape(topic, shape, compute), settings.device, compute)) continue;
      const auto add = [&](const std::string& what) {
        breaches.push_back(fmt::format("{} {} {}: {}", topic.name, v.name, name_of(compute), what));
      };
      Operands o(settings);
      Args args = topic.make(shape, o);
      spoil(args);
      try {
        (void)detail::run_version(v, args, o);
        add("did not throw Error");
      } catch (const Error&) {
      }
      for (const std::string& name : o.outputs()) {
        if (!o.is_untouched(name)) add(name + ": was written");
      }
      for (const std::string& damage : o.damage()) add(damage);
    }
  }
  return breaches;
}

// A shape at the edge of what the versions say they take, or beyond: what a version takes, it does
// as the contract wants, and so many kernels take it. One sentence for each breach.
template <class Shape, class Args>
std::vector<std::string> limit_breaches(Topic<Shape, Args> topic,
                                        const std::shared_ptr<const Registry>& registry,
                                        const Shape& shape, int kernels) {
  topic.shapes = {shape};
  topic.smallest = 1;  // none
  std::vector<std::string> found;
  int taken = 0;
  for (const Subject& s : subjects(topic, registry)) {
    if (s.backend == Backend::kCuda || s.compute != DType::kF32) continue;
    taken += s.backend == Backend::kSimt;
    for (const std::string& b : breaches(s, device_of(s.backend))) {
      found.push_back(fmt::format("{}: {}", s.label, b));
    }
  }
  if (taken != kernels) {
    found.push_back(fmt::format("{}: {} of the kernels take it, not {}", topic.describe(shape),
                                taken, kernels));
  }
  return found;
}

// Lays an output over an input, for `spoil`.
template <class T, int R, class U, int S>
void put_over(View<T, R>& out, View<const U, S> in) {
  out = {reinterpret_cast<T*>(const_cast<U*>(in.data())), out.extents()};
}

}  // namespace octavo::testing
