#pragma once
// Files made by hand for the tests: a folder that goes away by itself, safetensors bytes, the text
// of an error.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace octavo::model {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "octavo_test_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

// A safetensors file: the length, the header, `block_bytes` bytes that count up from 0. The header
// is padded with spaces to a multiple of 8, as writers do.
inline std::string safetensors_bytes(std::string header, std::size_t block_bytes) {
  while (header.size() % 8 != 0) header += ' ';
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  bytes += header;
  for (std::size_t i = 0; i < block_bytes; ++i) bytes += static_cast<char>(i);
  return bytes;
}

// The message of the octavo::Error that `act` throws; a failure and "" when it throws none.
inline std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

}  // namespace octavo::model
