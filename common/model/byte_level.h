#pragma once
// The alphabet of byte-level BPE (GPT-2): every byte has a visible character, so that a vocabulary
// of arbitrary bytes can be written as text. Visible Latin-1 bytes stand for themselves, the other
// 68 for U+0100 onwards in their order.

#include <array>
#include <string>
#include <string_view>

namespace octavo::model {

// The character, in UTF-8, of each byte.
const std::array<std::string, 256>& byte_level_alphabet();

std::string to_byte_level(std::string_view bytes);

// The bytes a token stands for. A token with a character outside the alphabet, which only an added
// one can have, stands for its own UTF-8, whole. Wants valid UTF-8.
std::string from_byte_level(std::string_view token);

}  // namespace octavo::model
