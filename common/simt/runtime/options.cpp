#include <charconv>
#include <cstdlib>
#include <string_view>

#include "common/simt/executor.h"

namespace octavo::simt {
namespace {

constexpr Schedule kSchedules[] = {Schedule::kForward, Schedule::kReverse, Schedule::kRandom,
                                   Schedule::kPct, Schedule::kSkew};
constexpr std::size_t kLargestStack = std::size_t{1} << 30;

thread_local const Options* scoped = nullptr;

Schedule parse_schedule(std::string_view text) {
  for (Schedule s : kSchedules) {
    if (text == name_of(s)) return s;
  }
  fail("OCTAVO_SIMT_SCHEDULE is '{}', must be fwd, rev, rand, pct or skew", text);
}

template <class T>
T parse_number(const char* name, std::string_view text, T lowest, T highest) {
  T value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(status == std::errc() && end == text.data() + text.size() && value >= lowest &&
              value <= highest,
          "{} is '{}', must be a whole number from {} to {}", name, text, lowest, highest);
  return value;
}

const char* variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? text : nullptr;
}

}  // namespace

std::string_view name_of(Schedule schedule) {
  constexpr std::string_view kNames[] = {"fwd", "rev", "rand", "pct", "skew"};
  return kNames[static_cast<int>(schedule)];
}

Options Options::from_environment() {
  Options o;
  if (const char* text = variable("OCTAVO_SIMT_SCHEDULE")) o.schedule = parse_schedule(text);
  if (const char* text = variable("OCTAVO_SIMT_SEED")) {
    o.seed = parse_number<std::uint64_t>("OCTAVO_SIMT_SEED", text, 0, ~std::uint64_t{0});
  }
  if (const char* text = variable("OCTAVO_SIMT_WORKERS")) {
    o.workers = parse_number<int>("OCTAVO_SIMT_WORKERS", text, 1, 256);
  }
  return o;
}

const Options& options() {
  static const Options from_environment = Options::from_environment();
  return scoped != nullptr ? *scoped : from_environment;
}

ScopedOptions::ScopedOptions(const Options& replacement)
    : options_(replacement), previous_(scoped) {
  require(options_.workers >= 1 && options_.workers <= 256,
          "simt: workers is {}, must be from 1 to 256", options_.workers);
  require(options_.stack_bytes == 0 ||
              (options_.stack_bytes >= 16384 && options_.stack_bytes <= kLargestStack),
          "simt: stack_bytes is {}, must be 0 or from 16384 to {}", options_.stack_bytes,
          kLargestStack);
  scoped = &options_;
}

ScopedOptions::~ScopedOptions() { scoped = previous_; }

std::vector<Options> covering_schedules() {
  std::vector<Options> list;
  const auto add = [&list](Schedule schedule, std::uint64_t seed) {
    Options o;
    o.schedule = schedule;
    o.seed = seed;
    list.push_back(o);
  };
  add(Schedule::kForward, 1);
  add(Schedule::kReverse, 1);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) add(Schedule::kPct, seed);
  for (std::uint64_t seed = 0; seed <= 1; ++seed) add(Schedule::kSkew, seed);
  return list;
}

}  // namespace octavo::simt
