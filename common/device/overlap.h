#pragma once
// Memory that two operands share. An output that lies over an input is written while it is still
// read: the result is wrong, or another one in every order.

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "common/base/view.h"
#include "common/device/tensor.h"

namespace octavo {

// The memory of an operand by name. Without elements, or null, it shares none with anything.
struct OperandMemory {
  std::string_view name;
  std::uintptr_t begin = 0, end = 0;

  OperandMemory(std::string_view n, const void* data, std::int64_t bytes) : name(n) {
    if (data == nullptr || bytes <= 0) return;
    begin = reinterpret_cast<std::uintptr_t>(data);
    end = begin + static_cast<std::uintptr_t>(bytes);
  }
  template <class T, int R>
  OperandMemory(std::string_view n, View<T, R> v)
      : OperandMemory(n, v.data(), v.size() * static_cast<std::int64_t>(sizeof(T))) {}
  OperandMemory(std::string_view n, const TensorView& t) : OperandMemory(n, t.data(), t.bytes()) {}
};

// Throws Error when an output has a byte in common with an input or with another output.
void require_apart(std::string_view operation, std::initializer_list<OperandMemory> outputs,
                   std::initializer_list<OperandMemory> inputs);

}  // namespace octavo
