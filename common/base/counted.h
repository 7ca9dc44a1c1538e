#pragma once
// Numbers with their nouns, for what programs print: "1 token", "2 tokens", "0 tokens". Not for
// kernel files: nvcc cannot read fmt.

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace octavo {

// Becomes text where it is formatted, so that a check that holds makes none. Borrows its words.
struct Counted {
  std::int64_t n;
  std::string_view singular, plural;  // no plural: the singular and an s

  std::string text() const {
    if (n != 1 && !plural.empty()) return fmt::format("{} {}", n, plural);
    return fmt::format("{} {}{}", n, singular, n == 1 ? "" : "s");
  }
};

Counted counted(std::integral auto n, std::string_view singular, std::string_view plural = {}) {
  return {static_cast<std::int64_t>(n), singular, plural};
}

}  // namespace octavo

template <>
struct fmt::formatter<octavo::Counted> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const octavo::Counted& c, Context& context) const {
    return fmt::formatter<std::string_view>::format(c.text(), context);
  }
};
