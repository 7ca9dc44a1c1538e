#pragma once
// Files on disk: mapped read-only, or read whole when small.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace octavo::model {

// A regular file mapped read-only, private, for the life of the object. Move-only. An empty file
// maps to no bytes. The bytes are the page cache's: a file that another program shortens meanwhile
// takes its pages away (SIGBUS), as for every mapping.
class MappedFile {
 public:
  // Throws Error when the file cannot be opened, is not a regular file (a folder, a pipe, a device)
  // or cannot be mapped.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// The whole file as text. Throws Error as MappedFile does, and for a file above `max_bytes`.
std::string read_text(const std::filesystem::path& path, std::size_t max_bytes = 16 << 20);

}  // namespace octavo::model
