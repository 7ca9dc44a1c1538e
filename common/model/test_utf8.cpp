#include "common/model/utf8.h"

#include <gtest/gtest.h>

#include "common/model/byte_level.h"

namespace octavo::model {
namespace {

// Built from the bit layout alone; utf8_step must not be asked.
std::string encoded(char32_t c) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((c >> shift) & 0x3f)); };
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xc0 | (c >> 6)), tail(0)};
  if (c < 0x10000) return {static_cast<char>(0xe0 | (c >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | (c >> 18)), tail(12), tail(6), tail(0)};
}

TEST(Utf8, EveryCodePointAndNothingElse) {
  for (char32_t c = 0; c < 0x120000; ++c) {
    const std::string bytes = encoded(c);
    const Utf8Step step = utf8_step(bytes);
    const bool is_code_point = c < 0x110000 && !(c >= 0xd800 && c < 0xe000);
    ASSERT_EQ(step.valid, is_code_point) << static_cast<unsigned>(c);
    if (!is_code_point) continue;
    ASSERT_EQ(step.length, bytes.size());
    ASSERT_EQ(step.code_point, c);
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
      const Utf8Step half = utf8_step(std::string_view(bytes).substr(0, cut));
      ASSERT_TRUE(!half.valid && half.cut && half.length == cut) << static_cast<unsigned>(c);
    }
  }
}

TEST(Utf8, OverlongFormsAreInvalid) {
  for (const char* bytes :
       {"\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf", "\x80", "\xbf", "\xf5\x80\x80\x80", "\xfe", "\xff"}) {
    EXPECT_EQ(first_invalid_utf8(bytes), 0u);
  }
  EXPECT_EQ(first_invalid_utf8("a\xc3\xa9\xe2\x82"), 3u);
  EXPECT_EQ(first_invalid_utf8(""), std::nullopt);
}

// The examples of Unicode's "substitution of maximal subparts", tables 3-8 to 3-11.
TEST(Utf8, EachMaximalSubpartBecomesOneReplacement) {
  const std::string r = "\xef\xbf\xbd";
  const auto decode = [](std::string bytes) {
    std::string text;
    take_utf8(bytes, true, text);
    EXPECT_TRUE(bytes.empty());
    return text;
  };
  EXPECT_EQ(decode("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82"
                   "A"),
            r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(decode("\xed\xa0\x80\xed\xbf\xbf\xed\xaf"
                   "A"),
            r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(decode("\xf4\x91\x92\x93\xff"
                   "A\x80\xbf"
                   "B"),
            r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(decode("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf"
                   "A"),
            r + r + r + r + "A");
}

TEST(Utf8, WhiteSpaceIsUnicodes) {
  int count = 0;
  for (char32_t c = 0; c < 0x110000; ++c) count += is_white_space(c);
  EXPECT_EQ(count, 25);
  EXPECT_FALSE(is_white_space(0x180e));
  EXPECT_FALSE(is_white_space(0x200b));
}

TEST(ByteLevel, TheAlphabetIsOneToOne) {
  std::string all;
  for (int b = 0; b < 256; ++b) all += static_cast<char>(b);
  EXPECT_FALSE(first_invalid_utf8(to_byte_level(all)));
  EXPECT_EQ(from_byte_level(to_byte_level(all)), all);
  EXPECT_EQ(byte_level_alphabet()[' '], "\xc4\xa0");
  EXPECT_EQ(byte_level_alphabet()['\n'], "\xc4\x8a");
  EXPECT_EQ(byte_level_alphabet()[0xad], "\xc5\x83");
  EXPECT_EQ(byte_level_alphabet()['A'], "A");
  EXPECT_EQ(from_byte_level("\xc4\xa0"
                            "a b"),
            "\xc4\xa0"
            "a b");  // a space is not in the alphabet
}

}  // namespace
}  // namespace octavo::model
