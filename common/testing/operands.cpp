#include "common/testing/operands.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "common/base/philox.h"

namespace octavo::testing {
namespace {

// NaN as fp32, fp16 and bf16, and different from the poison and from each other, so that stray
// copies show, also those from past an input's end: arithmetic keeps a NaN's bits.
constexpr std::uint16_t kInputGuard = 0xfff5, kOutputGuard = 0xfff6;
constexpr std::byte kFloatPoison{0xff};    // NaN in every floating-point type
constexpr std::byte kIntegerPoison{0xa5};  // no index, count or flag is this

std::uint32_t hash_of(std::string_view name) {
  std::uint32_t h = 2166136261u;  // FNV-1a
  for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  return h;
}

void write_guard(std::byte* to, std::int64_t bytes, std::uint16_t guard) {
  for (std::int64_t i = 0; i < bytes; i += 2) std::memcpy(to + i, &guard, 2);
}

// The first offset in a guard that differs, or -1.
std::int64_t changed(const std::byte* bytes, std::int64_t count, std::uint16_t guard) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (bytes[i] != static_cast<std::byte>(guard >> (i % 2 == 0 ? 0 : 8))) return i;
  }
  return -1;
}

}  // namespace

Operands::Operands(const OperandSettings& settings)
    : settings_(settings), stream_(settings.device) {}

Fill Operands::normal(std::string_view name, double scale) const {
  const std::uint32_t stream = hash_of(name);
  const PhiloxKey key = {static_cast<std::uint32_t>(settings_.seed),
                         static_cast<std::uint32_t>(settings_.seed >> 32)};
  const std::int64_t period = settings_.repeat;
  return [=](std::int64_t index) {
    const std::uint64_t i = static_cast<std::uint64_t>(period > 0 ? index % period : index);
    const PhiloxCounter bits =
        philox({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), stream,
                static_cast<std::uint32_t>(Purpose::kTest) << 16},
               key);
    const double u = (bits[0] + 0.5) * 0x1p-32, v = bits[1] * 0x1p-32;  // Box-Muller
    return scale * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  };
}

TensorView Operands::tensor(const std::string& name, std::initializer_list<std::int64_t> extents,
                            Fill fill) {
  const int rank = static_cast<int>(extents.size());
  void* const data = add(name, kind_of(settings_.compute), Role::kInput, false, extents.begin(),
                         rank, std::move(fill));
  return TensorView(data, settings_.compute, extents);
}

TensorView Operands::row_tensor(const std::string& name,
                                std::initializer_list<std::int64_t> extents, Fill fill) {
  const int rank = static_cast<int>(extents.size());
  void* const data = add(name, kind_of(settings_.compute), Role::kInput, true, extents.begin(),
                         rank, std::move(fill));
  return TensorView(data, settings_.compute, extents);
}

TensorView Operands::weight(const std::string& name, std::initializer_list<std::int64_t> extents,
                            Fill fill) {
  if (!fill) fill = normal(name, 1 / std::sqrt(static_cast<double>(*(extents.end() - 1))));
  const TensorView view = tensor(name, extents, std::move(fill));
  operands_.at(name).weight = true;
  return view;
}

Operands::Kind Operands::kind_of(DType type) {
  switch (type) {
    case DType::kF16:
      return Kind::kF16;
    case DType::kBF16:
      return Kind::kBF16;
    default:
      return Kind::kF32;
  }
}

std::int64_t Operands::bytes_of(Kind kind) {
  constexpr std::int64_t kBytes[] = {4, 2, 2, 4, 8, 1};
  return kBytes[static_cast<int>(kind)];
}

void Operands::store(Kind kind, std::byte* to, double value) {
  const auto put = [to](auto v) { std::memcpy(to, &v, sizeof(v)); };
  switch (kind) {
    case Kind::kF32:
      return put(static_cast<float>(value));
    case Kind::kF16:
      return put(half(static_cast<float>(value)));
    case Kind::kBF16:
      return put(bf16(static_cast<float>(value)));
    case Kind::kI32:
      return put(static_cast<std::int32_t>(value));
    case Kind::kI64:
      return put(static_cast<std::int64_t>(value));
    case Kind::kU8:
      return put(static_cast<std::uint8_t>(value));
  }
}

double Operands::load(Kind kind, const std::byte* from) {
  const auto get = [from](auto v) {
    std::memcpy(&v, from, sizeof(v));
    return v;
  };
  switch (kind) {
    case Kind::kF32:
      return static_cast<double>(get(float{}));
    case Kind::kF16:
      return static_cast<double>(static_cast<float>(get(half())));
    case Kind::kBF16:
      return static_cast<double>(static_cast<float>(get(bf16())));
    case Kind::kI32:
      return get(std::int32_t{});
    case Kind::kI64:
      return static_cast<double>(get(std::int64_t{}));
    case Kind::kU8:
      return get(std::uint8_t{});
  }
  return 0;
}

std::vector<std::byte> Operands::initial_bytes(const std::string& name, const Operand& o,
                                               Fill fill) const {
  const std::int64_t element = bytes_of(o.kind);
  const bool is_float = o.kind == Kind::kF32 || o.kind == Kind::kF16 || o.kind == Kind::kBF16;
  std::vector<std::byte> bytes(static_cast<std::size_t>(o.size * element),
                               is_float ? kFloatPoison : kIntegerPoison);
  if (o.role == Role::kOutput) return bytes;
  require(is_float || fill != nullptr, "operand {}: an integer input needs a fill", name);
  if (fill == nullptr) fill = normal(name);
  const std::int64_t row = o.extents[0] > 0 ? o.size / o.extents[0] : 0;
  const std::int64_t offset = o.rows ? settings_.rows.first * row : 0;
  const bool repeats = settings_.repeat > 0 && is_float;  // an index has its place
  const std::int64_t filled = repeats ? std::min(o.size, settings_.repeat) : o.size;
  for (std::int64_t i = 0; i < filled; ++i)
    store(o.kind, bytes.data() + i * element, fill(offset + i));
  for (std::int64_t i = filled; i < o.size; i += filled) {
    const std::int64_t n = std::min(filled, o.size - i);
    std::memcpy(bytes.data() + i * element, bytes.data(), static_cast<std::size_t>(n * element));
  }
  if (settings_.plant && settings_.plant->name == name) {
    const std::int64_t at = settings_.plant->index - offset;
    if (at >= 0 && at < o.size) store(o.kind, bytes.data() + at * element, settings_.plant->value);
  }
  return bytes;
}

void* Operands::add(const std::string& name, Kind kind, Role role, bool rows,
                    const std::int64_t* extents, int rank, Fill fill) {
  require(operands_.count(name) == 0, "two operands are named {}", name);
  Operand o;
  o.kind = kind;
  o.role = role;
  o.rows = rows;
  o.extents.assign(extents, extents + rank);
  o.size = 1;
  for (std::int64_t e : o.extents) {
    require(e >= 0, "operand {}: an extent of {}", name, e);
    o.size *= e;
  }
  void* data = nullptr;
  if (!settings_.shapes_only) {
    const std::int64_t guard = settings_.guarded ? kGuardBytes : 0, bytes = o.size * bytes_of(kind);
    std::vector<std::byte> initial = initial_bytes(name, o, std::move(fill));
    o.memory = DeviceBuffer<std::byte>(settings_.device, bytes + 2 * guard);
    data = o.memory.data() + guard;
    std::vector<std::byte> frame(static_cast<std::size_t>(guard));
    write_guard(frame.data(), guard, role == Role::kInput ? kInputGuard : kOutputGuard);
    copy_bytes(o.memory.data(), frame.data(), frame.size(), stream_);
    copy_bytes(data, initial.data(), initial.size(), stream_);
    copy_bytes(o.memory.data() + guard + bytes, frame.data(), frame.size(), stream_);
    stream_.synchronize();
    o.original = std::move(initial);
  }
  operands_.emplace(name, std::move(o));
  order_.push_back(name);
  return data;
}

const Operands::Operand& Operands::get(const std::string& name) const {
  const auto found = operands_.find(name);
  require(found != operands_.end(), "no operand is named {}", name);
  return found->second;
}

WeightSet Operands::weights() const {
  WeightSet all;
  for (const std::string& name : order_) {
    const Operand& o = operands_.at(name);
    if (!o.weight) continue;
    all.add({operands_.find(name)->first,
             TensorView(const_cast<std::byte*>(o.original.data()), settings_.compute,
                        o.extents.data(), static_cast<int>(o.extents.size()))});
  }
  return all;
}

void Operands::forget_values() {
  for (auto& [name, operand] : operands_) operand.original = {};
}

std::vector<std::string> Operands::outputs() const {
  std::vector<std::string> names;
  for (const std::string& name : order_) {
    if (operands_.at(name).role != Role::kInput) names.push_back(name);
  }
  return names;
}

std::vector<std::string> Operands::row_outputs() const {
  std::vector<std::string> names;
  for (const std::string& name : outputs()) {
    if (operands_.at(name).rows) names.push_back(name);
  }
  return names;
}

std::int64_t Operands::size_of(const std::string& name) const { return get(name).size; }

std::vector<double> Operands::values(const std::string& name) const {
  const Operand& o = get(name);
  std::vector<double> v(o.original.size() / static_cast<std::size_t>(bytes_of(o.kind)));
  const std::byte* from = o.original.data();
  for (double& x : v) {
    x = load(o.kind, from);
    from += bytes_of(o.kind);
  }
  return v;
}

std::vector<std::byte> Operands::all_bytes(const Operand& o) { return download(o.memory, stream_); }

std::vector<std::byte> Operands::result_bytes(const std::string& name) {
  const Operand& o = get(name);
  const std::int64_t guard = settings_.guarded ? kGuardBytes : 0;
  const std::vector<std::byte> all = all_bytes(o);
  return {all.begin() + guard, all.end() - guard};
}

std::vector<double> Operands::result(const std::string& name) {
  const Operand& o = get(name);
  const std::vector<std::byte> bytes = result_bytes(name);
  std::vector<double> v(static_cast<std::size_t>(o.size));
  for (std::int64_t i = 0; i < o.size; ++i) {
    v[static_cast<std::size_t>(i)] = load(o.kind, bytes.data() + i * bytes_of(o.kind));
  }
  return v;
}

double Operands::unit_roundoff(const std::string& name) const {
  switch (get(name).kind) {
    case Kind::kF32:
      return 0x1p-24;
    case Kind::kF16:
      return 0x1p-11;
    case Kind::kBF16:
      return 0x1p-8;
    default:
      return 0;
  }
}

std::vector<std::string> Operands::damage() {
  std::vector<std::string> found;
  for (const std::string& name : order_) {
    const Operand& o = operands_.at(name);
    const std::vector<std::byte> now = all_bytes(o);
    const std::byte* const data = now.data() + kGuardBytes;
    const std::int64_t bytes = o.size * bytes_of(o.kind);
    const std::uint16_t guard = o.role == Role::kInput ? kInputGuard : kOutputGuard;
    if (const std::int64_t at = changed(now.data(), kGuardBytes, guard); at >= 0) {
      found.push_back(
          fmt::format("{}: the memory {} bytes before it was written", name, kGuardBytes - at));
    }
    if (const std::int64_t at = changed(data + bytes, kGuardBytes, guard); at >= 0) {
      found.push_back(fmt::format("{}: the memory {} bytes past its end was written", name, at));
    }
    const bool same = std::equal(data, data + bytes, o.original.begin(), o.original.end());
    if (o.role == Role::kInput && !same) found.push_back(name + ": an input was written");
  }
  return found;
}

}  // namespace octavo::testing
