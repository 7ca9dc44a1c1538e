#include "common/bench/context.h"

#include <fmt/format.h>
#include <octavo_cpu_features.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/base/simd.h"
#include "common/device/device.h"

namespace octavo::bench {
namespace {

// What a command prints, without the last line end; empty when it fails.
std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 256> part{};
  while (pipe != nullptr && fgets(part.data(), part.size(), pipe.get()) != nullptr)
    text += part.data();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string or_unknown(std::string text) { return text.empty() ? "unknown" : text; }

std::string git_sha() {
  const std::string git = "git -C '" OCTAVO_SOURCE_DIR "' ";
  const std::string sha = output_of(git + "rev-parse HEAD 2>/dev/null");
  if (sha.empty()) return "unknown";
  return sha + (output_of(git + "status --porcelain --untracked-files=no 2>/dev/null").empty()
                    ? ""
                    : "-dirty");
}

std::string cpu_flags() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const bool flags = line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0;
    const std::size_t colon = line.find(": ");
    if (flags && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string now_utc() {
  const std::time_t t = std::time(nullptr);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&t));
  return text.data();
}

}  // namespace

std::string machine_name() {
  const char* const given = std::getenv("OCTAVO_MACHINE");
  if (given != nullptr && *given != '\0') return given;
  const Device cpu = cpu_device();
  std::string name;
  for (char c :
       fmt::format("{}-{}-{}-threads", cpu.name, simd::Native::kName, cpu.multiprocessors)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!plain && !name.empty() && name.back() != '-') name += '-';
  }
  return name;
}

nlohmann::json context(const Ceilings& c) {
  const Device cpu = cpu_device();
  nlohmann::json gpus = nlohmann::json::array();
  for (const Device& gpu : cuda_devices()) {
    gpus.push_back({{"name", gpu.name},
                    {"multiprocessors", gpu.multiprocessors},
                    {"memory_bytes", gpu.memory_bytes}});
  }
  return {{"date", now_utc()},
          {"machine", machine_name()},
          {"cpu", cpu.name},
          {"num_cpus", cpu.multiprocessors},
          {"memory_bytes", cpu.memory_bytes},
          {"cpu_flags", cpu_flags()},
          {"compiler", __VERSION__},
          {"march", OCTAVO_BUILT_FOR},
          {"vectors", simd::Native::kName},
          {"git_sha", git_sha()},
          {"system", or_unknown(output_of("uname -s 2>/dev/null"))},
          {"gpus", gpus},
          {"ceilings",
           {{"read_core_GB/s", c.read_core / 1e9},
            {"read_GB/s", c.read_bandwidth / 1e9},
            {"copy_GB/s", c.copy_bandwidth / 1e9},
            {"fma_core_TFLOP/s", c.fma_core / 1e12},
            {"fma_all_TFLOP/s", c.fma_all / 1e12},
            {"threads", c.threads},
            {"samples", c.samples}}}};
}

}  // namespace octavo::bench
