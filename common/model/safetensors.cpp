#include "common/model/safetensors.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "common/base/counted.h"
#include "common/base/error.h"
#include "common/model/json.h"

namespace octavo::model {
namespace {

// Product of the shape; throws when it leaves 63 bits.
std::int64_t count_elements(const std::vector<std::int64_t>& shape, const std::string& where) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) {
    require(!__builtin_mul_overflow(n, extent, &n), "{}: shape [{}] has more than 2^63 elements",
            where, fmt::join(shape, ", "));
  }
  return n;
}

std::vector<std::int64_t> read_shape(const Fields& f) {
  const nlohmann::json& list = f.at("shape");
  require(list.is_array() && list.size() <= kMaxRank,
          "{}: shape is {}, must be a list of at most {} extents", f.origin(), shown(list),
          kMaxRank);
  std::vector<std::int64_t> shape;
  for (const auto& extent : list) {
    require(extent.is_number_unsigned() &&
                extent.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX),
            "{}: shape is {}, every extent must be a whole number from 0 to 2^63 - 1", f.origin(),
            shown(list));
    shape.push_back(extent.get<std::int64_t>());
  }
  return shape;
}

TensorEntry read_entry(const Fields& f, std::uint64_t block_start, std::uint64_t block_bytes) {
  constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};
  TensorEntry entry;
  entry.dtype = kTypes[f.choice("dtype", {"F32", "F16", "BF16"})];
  entry.shape = read_shape(f);
  const nlohmann::json& offsets = f.at("data_offsets");
  require(offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() &&
              offsets[1].is_number_unsigned(),
          "{}: data_offsets is {}, must be two whole numbers", f.origin(), shown(offsets));
  entry.begin = offsets[0].get<std::uint64_t>();
  entry.end = offsets[1].get<std::uint64_t>();
  require(entry.begin <= entry.end && entry.end <= block_bytes,
          "{}: data_offsets is {}, must rise and stay within the {} behind the header", f.origin(),
          shown(offsets), counted(block_bytes, "byte"));
  const std::int64_t elements = count_elements(entry.shape, f.origin());
  const std::int64_t width = bytes_of(entry.dtype);
  const std::uint64_t bytes = entry.end - entry.begin;
  // Divided, not multiplied: elements * width may leave 63 bits.
  require(bytes % static_cast<std::uint64_t>(width) == 0 &&
              bytes / static_cast<std::uint64_t>(width) == static_cast<std::uint64_t>(elements),
          "{}: data_offsets {} span {}, but [{}] elements of {} need another number", f.origin(),
          shown(offsets), counted(bytes, "byte"), fmt::join(entry.shape, ", "),
          counted(width, "byte"));
  require((block_start + entry.begin) % static_cast<std::uint64_t>(width) == 0,
          "{}: starts at byte {} of the file, not a multiple of its {} byte elements", f.origin(),
          block_start + entry.begin, width);
  return entry;
}

// The entries in the order of their bytes must tile [0, block_bytes): no byte twice, none without a
// tensor.
void check_tiling(const std::map<std::string, TensorEntry>& entries, std::uint64_t block_bytes,
                  std::string_view origin) {
  std::vector<const std::pair<const std::string, TensorEntry>*> order;
  for (const auto& item : entries) order.push_back(&item);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::uint64_t reached = 0;
  const std::string* last = nullptr;
  for (const auto* item : order) {
    const auto& [name, entry] = *item;
    require(entry.begin >= reached,
            "{}: tensors '{}' and '{}' overlap: one ends at byte {}, the other starts at {}",
            origin, last ? *last : "", name, reached, entry.begin);
    require(entry.begin == reached, "{}: bytes {} to {} before tensor '{}' belong to no tensor",
            origin, reached, entry.begin, name);
    reached = entry.end;
    last = &name;
  }
  require(reached == block_bytes, "{}: the tensors end at byte {}, but {} follow{} the header",
          origin, reached, counted(block_bytes, "byte"), block_bytes == 1 ? "s" : "");
}

void check_metadata(const Fields& f) {
  for (const auto& [key, value] : f.object().items()) {
    require(value.is_string(), "{}: '{}' is {}, must be a string", f.origin(), key, shown(value));
  }
}

template <class T>
void convert(const std::byte* data, std::vector<float>& out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    T element;
    std::memcpy(&element, data + i * sizeof(T), sizeof(T));
    out[i] = static_cast<float>(element);
  }
}

}  // namespace

std::int64_t TensorView::elements() const {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

std::map<std::string, TensorEntry> parse_header(std::string_view header, std::uint64_t block_start,
                                                std::uint64_t block_bytes,
                                                std::string_view origin) {
  const nlohmann::json document = parse_json(header, origin);
  if (!document.is_object())
    fail("{}: the header is {}, must be a JSON object", origin, shown(document));
  std::map<std::string, TensorEntry> entries;
  for (const auto& [name, value] : document.items()) {
    const Fields f(value, fmt::format("{}: tensor '{}'", origin, name));
    if (name == "__metadata__") {
      check_metadata(f);
    } else {
      entries.emplace(name, read_entry(f, block_start, block_bytes));
    }
  }
  check_tiling(entries, block_bytes, origin);
  return entries;
}

Safetensors Safetensors::open(const std::filesystem::path& path) {
  Safetensors file{MappedFile(path)};
  const auto bytes = file.file_.bytes();
  require(bytes.size() >= 8, "{}: {}, a safetensors file has at least 8", path.string(),
          counted(bytes.size(), "byte"));
  std::uint64_t header_bytes = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    header_bytes |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  require(header_bytes <= kMaxHeaderBytes, "{}: the header's length is {}, at most {}",
          path.string(), header_bytes, kMaxHeaderBytes);
  require(header_bytes <= bytes.size() - 8,
          "{}: the header's length is {}, but the file has {} bytes in all", path.string(),
          header_bytes, bytes.size());
  const std::uint64_t block_start = 8 + header_bytes;
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + 8, header_bytes);
  for (auto& [name, entry] :
       parse_header(header, block_start, bytes.size() - block_start, path.string())) {
    file.tensors_.emplace(
        name, TensorView{entry.dtype, entry.shape, bytes.data() + block_start + entry.begin});
  }
  return file;
}

std::vector<float> to_float(const TensorView& tensor) {
  std::vector<float> out(static_cast<std::size_t>(tensor.elements()));
  switch (tensor.dtype) {
    case DType::kF32:
      convert<float>(tensor.data, out);
      break;
    case DType::kF16:
      convert<half>(tensor.data, out);
      break;
    case DType::kBF16:
      convert<bf16>(tensor.data, out);
      break;
  }
  return out;
}

}  // namespace octavo::model
