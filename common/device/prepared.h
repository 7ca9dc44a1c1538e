#pragma once
// WeightSet: the weights of an operation as a checkpoint holds them, in host memory. Prepared:
// what a version made of them once, at load.

#include <memory>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/device/tensor.h"

namespace octavo {

struct NamedWeight {
  std::string_view name;
  TensorView tensor;
};

// The weights by name, as the topic's header lists them. Borrows.
class WeightSet {
 public:
  WeightSet() = default;
  WeightSet(std::initializer_list<NamedWeight> weights) : weights_(weights) {}
  void add(NamedWeight weight) { weights_.push_back(weight); }

  // Throws Error when there is no weight of that name.
  const TensorView& operator[](std::string_view name) const {
    for (const NamedWeight& w : weights_) {
      if (w.name == name) return w.tensor;
    }
    fail("no weight is named '{}' among {}", name, weights_.size());
  }
  const std::vector<NamedWeight>& all() const { return weights_; }

 private:
  std::vector<NamedWeight> weights_;
};

// Owns a version's own form of its weights, whatever type that is; empty for a version that needs
// none. Move-only.
class Prepared {
 public:
  Prepared() = default;
  template <class T>
  static Prepared of(T value) {
    Prepared p;
    p.value_ = {new T(std::move(value)), [](void* v) { delete static_cast<T*>(v); }};
    p.type_ = &typeid(T);
    return p;
  }

  bool empty() const { return value_ == nullptr; }

  // What `of` was given. Throws Error when it holds another type, or nothing: the weights were
  // prepared by another version.
  template <class T>
  const T& get() const {
    require(type_ != nullptr && *type_ == typeid(T),
            "these weights were prepared by another version, or not at all");
    return *static_cast<const T*>(value_.get());
  }

 private:
  std::unique_ptr<void, void (*)(void*)> value_{nullptr, [](void*) {}};
  const std::type_info* type_ = nullptr;
};

}  // namespace octavo
