#include "common/model/tokenizer.h"

#include <gmock/gmock.h>

#include <climits>
#include <nlohmann/json.hpp>

#include "common/base/philox.h"
#include "common/model/file.h"
#include "common/model/test_files.h"
#include "common/model/test_tiny_tokenizer.h"
#include "common/model/utf8.h"

namespace octavo::model {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

const std::filesystem::path kSource(OCTAVO_SOURCE_DIR);
const std::filesystem::path kModel = kSource / "common/checkpoints/tiny-moe";

std::string stream(const Tokenizer& tokenizer, const std::vector<int>& ids, bool show_specials) {
  StreamDecoder decoder(tokenizer, show_specials);
  std::string text;
  for (const int id : ids) {
    const std::string piece = decoder.push(id);
    EXPECT_FALSE(first_invalid_utf8(piece)) << "half a code point after token " << id;
    text += piece;
  }
  const std::string last = decoder.finish();
  EXPECT_FALSE(first_invalid_utf8(last));
  return text + last;
}

TEST(Tokenizer, TheEmbeddedOneHasThePackagesIdsOn500Strings) {
  const Tokenizer tokenizer = Tokenizer::load(kModel / "tokenizer.json");
  EXPECT_EQ(tokenizer.vocab_size(), 1024);
  const json cases = json::parse(read_text(kSource / "common/checkpoints/tokenizer_cases.json"));
  ASSERT_EQ(cases.size(), 500u);
  for (const json& c : cases) {
    const std::string text = c["text"].get<std::string>();
    const std::vector<int> ids = tokenizer.encode(text);
    EXPECT_EQ(ids, c["ids"].get<std::vector<int>>()) << c["kind"] << " " << c["text"];
    EXPECT_EQ(tokenizer.decode(ids, true), text);
    EXPECT_EQ(stream(tokenizer, ids, true), text);
  }
}

TEST(Tokenizer, EverySupportedFormAgreesWithThePackage) {
  const json forms = json::parse(read_text(kSource / "common/model/tokenizer_golden.json"));
  for (const json& form : forms) {
    SCOPED_TRACE(form["name"].get<std::string>());
    const Tokenizer tokenizer = Tokenizer::parse(form["tokenizer"].dump(), "tokenizer.json");
    for (const json& c : form["encode"]) {
      const std::string text = c[0].get<std::string>();
      EXPECT_EQ(tokenizer.encode(text), c[1].get<std::vector<int>>()) << c[0];
      EXPECT_EQ(tokenizer.encode(text, Specials::kAsText), c[2].get<std::vector<int>>()) << c[0];
    }
    for (const json& c : form["decode"]) {
      const auto ids = c[0].get<std::vector<int>>();
      EXPECT_EQ(tokenizer.decode(ids), c[1].get<std::string>()) << c[0];
      EXPECT_EQ(tokenizer.decode(ids, true), c[2].get<std::string>()) << c[0];
      EXPECT_EQ(stream(tokenizer, ids, false), c[1].get<std::string>()) << c[0];
      EXPECT_EQ(stream(tokenizer, ids, true), c[2].get<std::string>()) << c[0];
    }
  }
}

TEST(Tokenizer, TokensByNameAndByNumber) {
  const Tokenizer tokenizer = tiny_tokenizer();
  EXPECT_EQ(tokenizer.id_of("<|end|>"), 300);
  EXPECT_EQ(tokenizer.id_of("Ġab"), 258);
  EXPECT_EQ(tokenizer.id_of(" ab"), std::nullopt);
  EXPECT_EQ(tokenizer.vocab_size(), 302);
  EXPECT_EQ(tokenizer.bytes_of(258), " ab");
  EXPECT_EQ(tokenizer.bytes_of(0xff), "\xff");
  EXPECT_EQ(tokenizer.bytes_of(301), "a token");
  EXPECT_TRUE(tokenizer.is_special(300));
  EXPECT_FALSE(tokenizer.is_special(301));
  for (const int none : {-1, 270, 302, INT_MAX, INT_MIN}) {
    EXPECT_EQ(tokenizer.bytes_of(none), "");
    EXPECT_FALSE(tokenizer.is_special(none));
  }
  EXPECT_EQ(tokenizer.decode(std::vector<int>{'x', 270, -5, 300, 'y', 99999}), "xy");
  EXPECT_EQ(tokenizer.decode(std::vector<int>{'x', 300, 'y'}, true), "x<|end|>y");
}

TEST(Tokenizer, MergesGoByRankThenFromTheLeft) {
  const Tokenizer tokenizer = tiny_tokenizer();
  EXPECT_THAT(tokenizer.encode("ab"), ElementsAre(256));
  EXPECT_THAT(tokenizer.encode("aaa"), ElementsAre(257, 'a'));  // the left pair first
  EXPECT_THAT(tokenizer.encode("aab"), ElementsAre('a', 256));  // "a b" was learnt before "a a"
  EXPECT_THAT(tokenizer.encode(" ab"), ElementsAre(258));       // through "ab"
  EXPECT_THAT(tokenizer.encode("aaaa"), ElementsAre(257, 257));
}

TEST(Tokenizer, SpecialTokensInWhatAUserWroteAreText) {
  const Tokenizer tokenizer = tiny_tokenizer();
  EXPECT_THAT(tokenizer.encode("a<|end|>b"), ElementsAre('a', 300, 'b'));
  EXPECT_THAT(tokenizer.encode("a<|end|>b", Specials::kAsText),
              ElementsAre('a', '<', '|', 'e', 'n', 'd', '|', '>', 'b'));
  EXPECT_THAT(tokenizer.encode("a token", Specials::kAsText), ElementsAre(301));
}

// Control tokens must not come out of plain text by the merges or the whole-word rule either.
TEST(Tokenizer, NoPathMakesASpecialTokenOutOfText) {
  json file = tiny_tokenizer_json();
  file["model"]["vocab"]["xy"] = 259;
  file["model"]["vocab"]["xyz"] = 260;
  file["model"]["merges"].push_back("x y");
  file["added_tokens"].push_back(added_token(259, "xy", true));
  file["added_tokens"].push_back(added_token(260, "xyz", true));
  for (const bool ignore_merges : {false, true}) {
    file["model"]["ignore_merges"] = ignore_merges;
    const Tokenizer tokenizer = Tokenizer::parse(file.dump(), "f");
    EXPECT_THAT(tokenizer.encode("xyz"), ElementsAre(260));
    EXPECT_THAT(tokenizer.encode("xyz", Specials::kAsText), ElementsAre('x', 'y', 'z'));
    EXPECT_THAT(tokenizer.encode("xy", Specials::kAsText), ElementsAre('x', 'y'));
  }
  file["added_tokens"].push_back(added_token('q', "q", true));
  EXPECT_EQ(error_of([&] { Tokenizer::parse(file.dump(), "f"); }),
            "f: the special token 'q' is the token of a byte");
}

TEST(Tokenizer, InvalidUtf8IsRefusedWithItsByte) {
  const Tokenizer tokenizer = tiny_tokenizer();
  EXPECT_EQ(error_of([&] { tokenizer.encode("ab\xc3"); }),
            "the text is not valid UTF-8: byte 2 of 3 is 0xc3");
  EXPECT_EQ(error_of([&] { tokenizer.encode("\xed\xa0\x80"); }),
            "the text is not valid UTF-8: byte 0 of 3 is 0xed");
  EXPECT_EQ(error_of([&] { tokenizer.encode("aé\xff z", Specials::kAsText); }),
            "the text is not valid UTF-8: byte 3 of 6 is 0xff");
}

// Doubling the run must not quadruple the work; a quadratic merge loop would take minutes here.
TEST(Tokenizer, AMegabyteOfOneLetterIsOneWordAndQuick) {
  const Tokenizer tokenizer = Tokenizer::load(kModel / "tokenizer.json");
  const std::string run(1'000'000, 'e');
  const std::vector<int> ids = tokenizer.encode(run);
  EXPECT_LT(ids.size(), run.size() + 1);
  EXPECT_EQ(tokenizer.decode(ids), run);
  for (const char* unit : {" ", "\n", "<", "<|", "<|user|>", "ab ", "\xf0\x9f\x98\x80", "7"}) {
    std::string text;
    while (text.size() < 200'000) text += unit;
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text), true), text) << unit;
  }
}

// Random ids split code points and put stray bytes side by side.
TEST(Tokenizer, StreamingEqualsTheWhole) {
  const Tokenizer tokenizer = Tokenizer::load(kModel / "tokenizer.json");
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::vector<int> ids;
    // Half of the sequences from the byte tokens alone, where code points break most.
    const float range = seed % 2 == 0 ? 1030.f : 260.f;
    for (std::uint64_t i = 0; i < 12; ++i) {
      ids.push_back(static_cast<int>(uniform(seed, 0, i, Purpose::kTest) * range));
    }
    for (const bool show : {false, true}) {
      ASSERT_EQ(stream(tokenizer, ids, show), tokenizer.decode(ids, show)) << seed;
    }
  }
}

// A normalized token that starts earlier does not take the beginning of one that is not.
TEST(Tokenizer, TokensThatAreNotNormalizedAreSoughtFirst) {
  json file = tiny_tokenizer_json();
  json normalized = added_token(302, "x<|", false);
  normalized["normalized"] = true;
  file["added_tokens"].push_back(normalized);
  const Tokenizer tokenizer = Tokenizer::parse(file.dump(), "f");
  EXPECT_THAT(tokenizer.encode("x<|end|>x<|"), ElementsAre('x', 300, 302));
  // As text, the special token is no token, and the normalized one is found inside it.
  EXPECT_THAT(tokenizer.encode("x<|end|>", Specials::kAsText),
              ElementsAre(302, 'e', 'n', 'd', '|', '>'));
}

TEST(StreamDecoder, HoldsBackUntilACodePointIsWhole) {
  const Tokenizer tokenizer = tiny_tokenizer();
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.push('x'), "x");
  EXPECT_EQ(decoder.push(0xf0), "");
  EXPECT_EQ(decoder.push(0x9f), "");
  EXPECT_EQ(decoder.push(300), "");  // skipped: the bytes around it meet
  EXPECT_EQ(decoder.push(0x98), "");
  EXPECT_EQ(decoder.push(0x80), "\xf0\x9f\x98\x80");
  EXPECT_EQ(decoder.push(0xe2), "");
  EXPECT_EQ(decoder.push('y'), "\xef\xbf\xbdy");
  EXPECT_EQ(decoder.push(0xc3), "");
  EXPECT_EQ(decoder.finish(), "\xef\xbf\xbd");
  EXPECT_EQ(decoder.push('z'), "z");
  EXPECT_EQ(decoder.finish(), "");
}

}  // namespace
}  // namespace octavo::model
