#pragma once
// Where code runs, and the set of number types a version takes.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "common/base/numbers.h"

namespace octavo {

enum class Backend : std::uint8_t {
  kCpu,   // host code
  kCuda,  // kernels on a GPU
  kSimt,  // the same kernels on CPU fibers; their memory is host memory
};

std::string_view name_of(Backend backend);  // "cpu", "cuda", "simt"

// The backend of that name. Throws Error naming the three there are.
Backend backend_from(std::string_view name);

constexpr bool is_host(Backend backend) { return backend != Backend::kCuda; }

// A set of number types.
class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> types) {
    for (DType type : types) bits_ |= bit(type);
  }
  constexpr bool contains(DType type) const { return (bits_ & bit(type)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr bool operator==(DTypeSet, DTypeSet) = default;

 private:
  static constexpr std::uint32_t bit(DType type) { return 1u << static_cast<unsigned>(type); }
  std::uint32_t bits_ = 0;
};

std::string names_of(DTypeSet types);  // "F32 BF16"

}  // namespace octavo
