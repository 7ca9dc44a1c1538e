#pragma once
// Runs one of the programs that hold faulty kernels, in a process of its own.

#include <array>
#include <cstdio>
#include <string>

#include "common/base/error.h"

namespace octavo::simt::programs {

// The output, stderr included, of `program argument` with these variables:
// "OCTAVO_SIMT_SCHEDULE=fwd ...".
inline std::string output_of(const std::string& program, const std::string& argument,
                             const std::string& variables) {
  const std::string command =
      variables + " timeout 60 " + OCTAVO_SIMT_PROGRAMS + "/" + program + " " + argument + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) fail("cannot start {}", command);
  std::string text;
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), n);
  pclose(pipe);
  return text;
}

inline std::string schedule(const std::string& name, int seed) {
  return fmt::format("OCTAVO_SIMT_SCHEDULE={} OCTAVO_SIMT_SEED={}", name, seed);
}

}  // namespace octavo::simt::programs
