#include "common/base/output_file.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "common/base/error.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

bool put(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  return file.good();
}

}  // namespace

void write_file(const std::string& path, std::string_view text) {
  std::error_code error;  // what cannot be looked at cannot be written either, and then put says so
  const bool there = fs::exists(path, error);
  if (there && !fs::is_regular_file(path, error)) {
    require(put(path, text), "{} cannot be written", path);
    return;
  }
  // A link stays one: what it points to is replaced.
  const fs::path target = there ? fs::canonical(path, error) : fs::path(path);
  const fs::path fresh = target.string() + ".new";
  const bool written = !target.empty() && put(fresh, text);
  if (written) fs::rename(fresh, target, error);
  if (written && !error) return;
  std::error_code ignored;
  fs::remove(fresh, ignored);
  fail("{} cannot be written", path);
}

}  // namespace octavo
