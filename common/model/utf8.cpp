#include "common/model/utf8.h"

namespace octavo::model {

Utf8Step utf8_step(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {1, true, false, lead};
  if (lead < 0xc2 || lead > 0xf4) return {1, false, false, 0};
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // The second byte is narrower than 80..BF where that keeps out overlong forms, surrogates and
  // U+110000 and beyond.
  const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  char32_t code_point = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {i, false, true, 0};
    const unsigned next = byte(i);
    if (next < (i == 1 ? low : 0x80) || next > (i == 1 ? high : 0xbf)) return {i, false, false, 0};
    code_point = (code_point << 6) | (next & 0x3fu);
  }
  return {length, true, false, code_point};
}

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text.substr(at));
    if (!step.valid) return at;
    at += step.length;
  }
  return std::nullopt;
}

void take_utf8(std::string& bytes, bool last, std::string& text) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const Utf8Step step = utf8_step(std::string_view(bytes).substr(at));
    if (step.cut && !last) break;
    if (step.valid) {
      text.append(bytes, at, step.length);
    } else {
      text += "\xef\xbf\xbd";
    }
    at += step.length;
  }
  bytes.erase(0, at);
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

}  // namespace octavo::model
