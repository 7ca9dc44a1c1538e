#pragma once
// UTF-8, one step at a time: who is valid, who is cut short, who is wrong (Unicode 15, table 3-7).

#include <optional>
#include <string>
#include <string_view>

namespace octavo::model {

struct Utf8Step {
  // bytes of the code point, or of the longest start of one that is there; at least 1
  std::size_t length = 0;
  bool valid = false;  // a whole code point
  // not valid, but more bytes could have made it so: the text ends inside a code point
  bool cut = false;
  char32_t code_point = 0;  // when valid
};

// Looks at the beginning of `text`, which must not be empty.
Utf8Step utf8_step(std::string_view text);

// The offset of the first byte that is not part of valid UTF-8.
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

// Moves what is decided from the front of `bytes` to the end of `text`: code points as they are,
// U+FFFD for each longest start of a code point that nothing can complete (Unicode 15, section 3.9,
// "substitution of maximal subparts"). Without `last`, up to 3 bytes that more could complete stay
// in `bytes`.
void take_utf8(std::string& bytes, bool last, std::string& text);

// Unicode's White_Space property.
bool is_white_space(char32_t code_point);

}  // namespace octavo::model
