#pragma once
// The one exception type of the project. A message says what was wrong, the value and the limit.

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace octavo {

// Bad input (a file, a config, a command line, a request): programs print one line and exit with 2.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws Error with a formatted message.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

// Throws Error with a formatted message unless `condition` holds.
template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw Error(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace octavo
