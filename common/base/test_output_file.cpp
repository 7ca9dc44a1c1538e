#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "common/base/error.h"
#include "common/base/output_file.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

class OutputFile : public ::testing::Test {
 protected:
  OutputFile() { fs::create_directories(folder_); }
  ~OutputFile() override { fs::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }
  static std::string held(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

 private:
  fs::path folder_ =
      fs::temp_directory_path() / fmt::format("octavo_output_file_{}", static_cast<int>(getpid()));
};

TEST_F(OutputFile, HoldsTheTextAndNothingElseIsLeft) {
  const std::string text("a\0b\r\n", 5), longer(100'000, 'x');
  write_file(path("new"), text);
  EXPECT_EQ(held(path("new")), text);
  write_file(path("new"), longer);
  EXPECT_EQ(held(path("new")), longer);
  write_file(path("new"), "");
  EXPECT_EQ(held(path("new")), "");
  EXPECT_EQ(files(), 1);
}

// A write that ends half way, here at a limit of the file's size, leaves the old text.
TEST_F(OutputFile, AFailureLeavesWhatWasThere) {
  write_file(path("old"), "old");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(write_file(path("old"), std::string(100'000, 'x')), Error);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(held(path("old")), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, LinksStayAndWhatIsNoFileIsWrittenAsItIs) {
  write_file(path("file"), "old");
  fs::create_symlink("file", path("link"));
  write_file(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(held(path("file")), "new");
  write_file("/dev/null", "gone");
  EXPECT_FALSE(fs::is_regular_file("/dev/null"));
}

TEST_F(OutputFile, WhatCannotBeWrittenIsSaid) {
  for (const std::string& bad : {path("none/file"), path("."), std::string("/dev/full"),
                                 std::string(), path(std::string(300, 'x').c_str())}) {
    try {
      write_file(bad, "text");
      ADD_FAILURE() << bad << " was written";
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), bad + " cannot be written");
    }
  }
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace octavo
