#include "common/model/byte_level.h"

#include "common/model/utf8.h"

namespace octavo::model {
namespace {

constexpr int kLimit = 256 + 68;  // one past the alphabet's last character

struct Alphabet {
  std::array<std::string, 256> character;
  std::array<int, kLimit> byte;  // -1: not in the alphabet

  Alphabet() {
    byte.fill(-1);
    int next = 256;
    for (int b = 0; b < 256; ++b) {
      const bool visible = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
      const int c = visible ? b : next++;
      byte[static_cast<std::size_t>(c)] = b;
      std::string& text = character[static_cast<std::size_t>(b)];
      if (c >= 0x80) text += static_cast<char>(0xc0 | (c >> 6));
      text += static_cast<char>(c >= 0x80 ? 0x80 | (c & 0x3f) : c);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

}  // namespace

const std::array<std::string, 256>& byte_level_alphabet() { return alphabet().character; }

std::string to_byte_level(std::string_view bytes) {
  std::string token;
  for (const char byte : bytes) token += alphabet().character[static_cast<unsigned char>(byte)];
  return token;
}

std::string from_byte_level(std::string_view token) {
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const Utf8Step step = utf8_step(token.substr(at));
    const int byte = step.code_point < kLimit ? alphabet().byte[step.code_point] : -1;
    if (byte < 0) return std::string(token);
    bytes += static_cast<char>(byte);
    at += step.length;
  }
  return bytes;
}

}  // namespace octavo::model
