#pragma once
// Rows that start anywhere: a checkpoint in memory promises no alignment, so a row length that is a
// multiple of 16 bytes is not enough for loads of 16. Operands here start one element late.

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/testing/contract.h"

namespace octavo::testing {
namespace detail {

// Elements of a late operand: its own and one before.
inline std::int64_t late_size(std::span<const std::int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>()) + 1;
}
template <class T, int R>
View<T, R> late_view(View<T, 1> all, const std::int64_t (&extents)[R]) {
  typename View<T, R>::Extents shape{};
  std::copy_n(extents, R, shape.begin());
  return {all.data() + 1, shape};
}

}  // namespace detail

template <class T, int R>
View<const T, R> late_input(Operands& o, const std::string& name, const std::int64_t (&extents)[R],
                            Fill fill = {}) {
  return detail::late_view(o.input<T>(name, {detail::late_size(extents)}, std::move(fill)),
                           extents);
}
template <class T, int R>
View<T, R> late_output(Operands& o, const std::string& name, const std::int64_t (&extents)[R]) {
  return detail::late_view(o.output<T>(name, {detail::late_size(extents)}), extents);
}
// An input in the compute type.
inline TensorView late_tensor(Operands& o, const std::string& name,
                              std::initializer_list<std::int64_t> extents) {
  const TensorView t =
      o.tensor(name, {detail::late_size({extents.begin(), extents.size()})}, o.normal(name, 0.2));
  return {static_cast<std::byte*>(t.data()) + bytes_of(t.dtype()), t.dtype(), extents};
}

// Every version of the topic on the executor, in fp32 and bf16, against the topic's first there,
// which loads one element at a time. `make(Operands&)` gives the Args. One sentence for each
// difference, empty when there is none; the element before a late output must not be written.
template <class Args, class Make>
std::vector<std::string> unaligned_breaches(const Registry& registry, std::string_view topic,
                                            const Make& make) {
  std::vector<std::string> breaches;
  const Version<Args>* first = nullptr;
  for (const Version<Args>& v : registry.versions<Args>(topic)) {
    if (v.backend != Backend::kSimt) continue;
    if (first == nullptr) first = &v;
    for (const DType compute : {DType::kF32, DType::kBF16}) {
      if (!v.dtypes.contains(compute)) continue;
      const auto add = [&](const std::string& complaint) {
        breaches.push_back(fmt::format("{} {} {}: {}", topic, v.name, name_of(compute), complaint));
      };
      OperandSettings settings;
      settings.device = simt_device();
      settings.compute = compute;
      Operands want(settings), got(settings);
      std::ranges::for_each(detail::run_version(*first, make(want), want), add);
      std::ranges::for_each(detail::run_version(v, make(got), got), add);
      std::ranges::for_each(got.damage(), add);
      for (const std::string& name : got.outputs()) {
        const std::vector<double> a = got.result(name), b = want.result(name);
        const std::vector<float> g(a.begin(), a.end()), w(b.begin(), b.end());
        const Comparison c = compare(g.data(), w.data(), std::ssize(g),
                                     {.absolute = compute == DType::kF32 ? 1e-5 : 2e-3});
        if (!c.ok) add(name + ": " + c.message);
      }
    }
  }
  return breaches;
}

}  // namespace octavo::testing
