#pragma once
// The one exception type of the project. A message says what was wrong, the value and the limit.

#include <stdexcept>
#include <string>
#include <string_view>

#if !defined(__CUDACC__)
#include <fmt/format.h>
#endif

namespace octavo {

// Bad input (a file, a config, a command line, a request): programs print one line and exit with 2.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {
// `format` with its first `count` occurrences of {} replaced by the values.
std::string substitute(const char* format, const std::string* values, int count);
}  // namespace detail

#if defined(__CUDACC__)
// nvcc 13 cannot read fmt 9, so a kernel file's host code gets this: each {} becomes the next
// value, no format specifiers.
namespace detail {
inline std::string text_of(const std::string& value) { return value; }
inline std::string text_of(const char* value) { return value; }
inline std::string text_of(std::string_view value) { return std::string(value); }
template <class T>
std::string text_of(const T& value) {
  return std::to_string(value);
}
}  // namespace detail

template <class... Args>
[[noreturn]] void fail(const char* format, const Args&... args) {
  const std::string values[] = {detail::text_of(args)..., std::string()};
  throw Error(detail::substitute(format, values, static_cast<int>(sizeof...(args))));
}

template <class... Args>
void require(bool condition, const char* format, const Args&... args) {
  if (!condition) fail(format, args...);
}
#else
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
#endif

}  // namespace octavo
