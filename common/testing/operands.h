#pragma once
// Operands: the inputs and outputs of one run of a version, made by name, each between two guards.
// Inputs are seeded and a pure function of their name and index, so that a row of a batch can be
// made again alone. Outputs start as NaN.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/view.h"
#include "common/device/buffer.h"
#include "common/device/prepared.h"

namespace octavo::testing {

// The value of element `index` (flat, counted in the whole batch) of an operand. Rounded to the
// operand's type.
using Fill = std::function<double(std::int64_t index)>;

// The rows of the batch that an Operands stands for.
struct RowWindow {
  std::int64_t first = 0;
  std::int64_t count = -1;  // -1: all
};

// A value put into one element of one input, instead of what its fill gives.
struct Plant {
  std::string name;
  std::int64_t index = 0;
  double value = 0;
};

struct OperandSettings {
  Device device;
  DType compute = DType::kF32;  // the type of tensors made by weight() and tensor()
  std::uint64_t seed = 1;
  RowWindow rows;
  std::optional<Plant> plant;
  bool shapes_only = false;  // no memory: views carry extents and a null pointer
  // kGuardBytes before and after each operand, outputs poisoned, host copies kept
  bool guarded = true;
  // > 0: random values repeat with this period (large operands of benchmarks)
  std::int64_t repeat = 0;
};

class Operands {
 public:
  static constexpr std::int64_t kGuardBytes = 4096;

  explicit Operands(const OperandSettings& settings);

  // A standard normal value, seeded by the settings' seed and the operand's name, times `scale`.
  Fill normal(std::string_view name, double scale = 1) const;

  // An input; row_input: one whose first axis is the batch. Without a fill: unit variance. T is
  // float, half, bf16, int32_t, int64_t or uint8_t.
  template <class T, int R>
  View<const T, R> input(const std::string& name, const std::int64_t (&extents)[R],
                         Fill fill = {}) {
    return view<const T, R>(
        add(name, kind_of<T>(), Role::kInput, false, extents, R, std::move(fill)), extents);
  }
  template <class T, int R>
  View<const T, R> row_input(const std::string& name, const std::int64_t (&extents)[R],
                             Fill fill = {}) {
    return view<const T, R>(
        add(name, kind_of<T>(), Role::kInput, true, extents, R, std::move(fill)), extents);
  }
  // The same in the compute type.
  TensorView tensor(const std::string& name, std::initializer_list<std::int64_t> extents,
                    Fill fill = {});
  TensorView row_tensor(const std::string& name, std::initializer_list<std::int64_t> extents,
                        Fill fill = {});
  // A weight in the compute type, also given to Version::prepare under this name. Without a fill
  // its variance is 1 / (last extent), so that a product with it keeps unit variance.
  TensorView weight(const std::string& name, std::initializer_list<std::int64_t> extents,
                    Fill fill = {});

  template <class T, int R>
  View<T, R> output(const std::string& name, const std::int64_t (&extents)[R]) {
    return view<T, R>(add(name, kind_of<T>(), Role::kOutput, false, extents, R, {}), extents);
  }
  template <class T, int R>
  View<T, R> row_output(const std::string& name, const std::int64_t (&extents)[R]) {
    return view<T, R>(add(name, kind_of<T>(), Role::kOutput, true, extents, R, {}), extents);
  }
  // Starts with values and is written in place: an output whose reference must say every element.
  template <class T, int R>
  View<T, R> in_place(const std::string& name, const std::int64_t (&extents)[R], Fill fill = {}) {
    return view<T, R>(add(name, kind_of<T>(), Role::kInPlace, false, extents, R, std::move(fill)),
                      extents);
  }

  const OperandSettings& settings() const { return settings_; }
  Stream& stream() { return stream_; }
  WeightSet weights() const;                 // host copies
  void forget_values();                      // drops them: values() and weights() are then empty
  std::vector<std::string> outputs() const;  // names, in the order made; in_place ones too
  std::vector<std::string> row_outputs() const;
  std::int64_t size_of(const std::string& name) const;  // elements

  // What an operand held before the run.
  std::vector<double> values(const std::string& name) const;
  // What an output holds now; synchronises the stream.
  std::vector<double> result(const std::string& name);
  std::vector<std::byte> result_bytes(const std::string& name);
  // Whether an operand holds what it held before the run; synchronises the stream.
  bool is_untouched(const std::string& name) { return result_bytes(name) == get(name).original; }
  // Half the distance from 1 to the next number of the operand's type; 0 for integers.
  double unit_roundoff(const std::string& name) const;

  // One sentence for each operand whose guards, or whose values as an input, have changed;
  // synchronises the stream.
  std::vector<std::string> damage();

 private:
  enum class Kind : std::uint8_t { kF32, kF16, kBF16, kI32, kI64, kU8 };
  enum class Role : std::uint8_t { kInput, kOutput, kInPlace };
  struct Operand {
    Kind kind = Kind::kF32;
    Role role = Role::kInput;
    bool rows = false;
    bool weight = false;
    std::uint32_t guard = 0;  // what lies before it and behind
    std::vector<std::int64_t> extents;
    std::int64_t size = 0;            // elements
    std::vector<std::byte> original;  // before the run; guarded operands only
    DeviceBuffer<std::byte> memory;   // guard, data, guard
  };

  template <class T>
  static constexpr Kind kind_of();
  template <class T, int R>
  static View<T, R> view(void* data, const std::int64_t (&extents)[R]) {
    typename View<T, R>::Extents e{};
    for (int a = 0; a < R; ++a) e[static_cast<std::size_t>(a)] = extents[a];
    return {static_cast<T*>(data), e};
  }
  static Kind kind_of(DType type);
  static std::int64_t bytes_of(Kind kind);
  static bool is_floating(Kind kind) { return kind <= Kind::kBF16; }
  static void store(Kind kind, std::byte* to, double value);
  static double load(Kind kind, const std::byte* from);

  // Makes an operand and returns the address of its first element on the device. Throws Error for a
  // name used twice.
  void* add(const std::string& name, Kind kind, Role role, bool rows, const std::int64_t* extents,
            int rank, Fill fill);
  std::vector<std::byte> initial_bytes(const std::string& name, const Operand& operand,
                                       Fill fill) const;
  const Operand& get(const std::string& name) const;
  std::vector<std::byte> all_bytes(const Operand& operand);

  OperandSettings settings_;
  Stream stream_;
  std::map<std::string, Operand> operands_;
  std::vector<std::string> order_;
};

template <class T>
constexpr Operands::Kind Operands::kind_of() {
  if constexpr (std::is_same_v<T, float>) {
    return Kind::kF32;
  } else if constexpr (std::is_same_v<T, half>) {
    return Kind::kF16;
  } else if constexpr (std::is_same_v<T, bf16>) {
    return Kind::kBF16;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return Kind::kI32;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return Kind::kI64;
  } else {
    static_assert(std::is_same_v<T, std::uint8_t>, "an operand of this type is not supported");
    return Kind::kU8;
  }
}

}  // namespace octavo::testing
