// file:line of an address, by addr2line (binutils, which a compiler that links needs anyway).

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

}  // namespace

// addr2line prints, for each address, a line with it, then file:line of the innermost inlined
// function, of the function it was inlined into, and so on.
std::vector<SourceLine> source_lines(const std::vector<std::uintptr_t>& addresses) {
  std::array<char, 4096> program{};
  if (addresses.empty() || readlink("/proc/self/exe", program.data(), program.size() - 1) <= 0) {
    return std::vector<SourceLine>(addresses.size());
  }
  std::string command = fmt::format("addr2line -a -i -e '{}'", program.data());
  for (std::uintptr_t address : addresses) command += fmt::format(" {:#x}", address);
  const std::string text = output_of(command + " 2>/dev/null");
  std::vector<SourceLine> lines;
  bool found = false;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != text.npos; at = end + 1) {
    const std::string_view line(text.data() + at, end - at);
    if (line.substr(0, 2) == "0x") {
      lines.emplace_back();
      found = false;
    } else if (!lines.empty() && !found) {
      lines.back() = parse(line);
      found = !stands_for_caller(line);
    }
  }
  lines.resize(addresses.size());
  return lines;
}

}  // namespace octavo::simt::profile
