// file:line of an address, by addr2line (binutils, which a compiler that links needs anyway).
//
// Code that the compiler made of several lines, such as a load that both branches of an if begin
// with, belongs to none, and addr2line gives 0 or ? for its line. It counts where its function was
// inlined into the next, or else at the nearest line before it.

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "common/base/error.h"
#include "common/simt/profile/recorder.h"

namespace octavo::simt::profile {
namespace {

std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string text;
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), n);
  pclose(pipe);
  return text;
}

// Helpers that stand for their caller: the dialect's own, and the standard library's.
bool stands_for_caller(std::string_view path) {
  return path.find("common/simt/cpu/") != path.npos ||
         path.find("common/simt/reductions.h") != path.npos || path.substr(0, 5) == "/usr/";
}

// "/folder/file.cu:12 (discriminator 3)" -> file.cu, 12
SourceLine parse(std::string_view text) {
  const std::size_t colon = text.rfind(':', text.find(" ("));
  if (colon == text.npos) return {};
  const std::size_t slash = text.rfind('/', colon), begin = slash == text.npos ? 0 : slash + 1;
  return {std::string(text.substr(begin, colon - begin)),
          std::atoi(std::string(text.substr(colon + 1)).c_str())};
}

// What addr2line says of addresses of the running program.
std::vector<SourceLine> ask_addr2line(const std::vector<std::uintptr_t>& addresses) {
  std::array<char, 4096> program{};
  if (addresses.empty() || readlink("/proc/self/exe", program.data(), program.size() - 1) <= 0) {
    return std::vector<SourceLine>(addresses.size());
  }
  std::string command = fmt::format("addr2line -a -i -e '{}'", program.data());
  for (std::uintptr_t address : addresses) command += fmt::format(" {:#x}", address);
  std::vector<SourceLine> lines = parse_addr2line(output_of(command + " 2>/dev/null"));
  lines.resize(addresses.size());
  return lines;
}

// The nearest line before an address whose own is not known, in the same file.
SourceLine line_before(std::uintptr_t address, const SourceLine& unknown) {
  constexpr std::uintptr_t kBytes = 256;  // of code
  std::vector<std::uintptr_t> before;
  for (std::uintptr_t back = 1; back <= kBytes && back <= address; ++back)
    before.push_back(address - back);
  for (const SourceLine& line : ask_addr2line(before)) {
    if (line.line > 0 && line.file == unknown.file) return line;
  }
  return unknown;
}

}  // namespace

std::vector<SourceLine> parse_addr2line(std::string_view text) {
  std::vector<SourceLine> lines;
  bool found = false;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != text.npos; at = end + 1) {
    const std::string_view line = text.substr(at, end - at);
    if (line.substr(0, 2) == "0x") {
      lines.emplace_back();
      found = false;
    } else if (!lines.empty() && !found) {
      const SourceLine place = parse(line);
      if (place.line > 0 || lines.back().file.empty()) lines.back() = place;
      found = place.line > 0 && !stands_for_caller(line);
    }
  }
  return lines;
}

std::vector<SourceLine> source_lines(const std::vector<std::uintptr_t>& addresses) {
  std::vector<SourceLine> lines = ask_addr2line(addresses);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].line == 0 && !lines[i].file.empty())
      lines[i] = line_before(addresses[i], lines[i]);
  }
  return lines;
}

}  // namespace octavo::simt::profile
