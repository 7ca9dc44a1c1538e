#include "common/model/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/error.h"

namespace octavo::model {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  // Without O_NONBLOCK the open itself would wait for a writer when the path is a pipe.
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  require(file.fd >= 0, "{}: cannot open: {}", path.string(), std::strerror(errno));
  struct stat status {};
  require(fstat(file.fd, &status) == 0, "{}: cannot stat: {}", path.string(), std::strerror(errno));
  require(S_ISREG(status.st_mode), "{}: is not a regular file", path.string());
  if (status.st_size == 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  require(data != MAP_FAILED, "{}: cannot map {} bytes: {}", path.string(), size,
          std::strerror(errno));
  data_ = static_cast<const std::byte*>(data);
  size_ = size;
}

MappedFile::~MappedFile() {
  if (size_ > 0) munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

std::string read_text(const std::filesystem::path& path, std::size_t max_bytes) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  require(bytes.size() <= max_bytes, "{}: {} bytes, at most {} are read", path.string(),
          bytes.size(), max_bytes);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace octavo::model
