#pragma once
// The safetensors file format: 8 bytes N, little-endian; N bytes of JSON that name each tensor's
// dtype, shape and bytes; then one block of bytes. Everything the header says is checked when the
// file is opened, so that a TensorView never points outside the mapping.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/numbers.h"
#include "common/model/file.h"

namespace octavo::model {

// One tensor, row-major, borrowed from a mapping. `data` is a multiple of its element's size from
// the file's start.
struct TensorView {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;  // empty: a scalar, one element
  const std::byte* data = nullptr;

  std::int64_t elements() const;
};

// Where a tensor lies, as a checked header says.
struct TensorEntry {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes, from the start of the block behind the header
};

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::size_t kMaxRank = 8;

// Checks the `header` (the JSON text alone) of a file whose block has `block_bytes` bytes and
// starts at `block_start`. Throws Error, naming the tensor and both numbers, when a dtype is not
// F32, F16 or BF16, a shape's product leaves 63 bits, shape and bytes differ, bytes overlap, leave
// a gap or do not end where the block ends, or an element would be misaligned; and as parse_json
// does.
std::map<std::string, TensorEntry> parse_header(std::string_view header, std::uint64_t block_start,
                                                std::uint64_t block_bytes, std::string_view origin);

// One open file. Move-only; views live as long as it does, wherever it moves.
class Safetensors {
 public:
  // Throws Error as MappedFile and parse_header do, and when the file is shorter than its header's
  // length says or the header is longer than kMaxHeaderBytes.
  static Safetensors open(const std::filesystem::path& path);

  const std::map<std::string, TensorView, std::less<>>& tensors() const { return tensors_; }

 private:
  explicit Safetensors(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
  std::map<std::string, TensorView, std::less<>> tensors_;
};

// The elements as floats; exact for every dtype.
std::vector<float> to_float(const TensorView& tensor);

}  // namespace octavo::model
