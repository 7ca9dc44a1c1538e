// Everything that a tokenizer.json may say and that is refused by name.
#include <gmock/gmock.h>

#include "common/model/test_files.h"
#include "common/model/test_tiny_tokenizer.h"

namespace octavo::model {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// The error of the tiny tokenizer with the value at `pointer` replaced.
std::string error_with(const std::string& pointer, const json& value) {
  json file = tiny_tokenizer_json();
  file[json::json_pointer(pointer)] = value;
  return error_of([&] { Tokenizer::parse(file.dump(), "f"); });
}

TEST(TokenizerJson, UnsupportedPartsAreNamed) {
  EXPECT_EQ(error_with("/normalizer", {{"type", "NFC"}}),
            "f: normalizer is of type \"NFC\", only null is supported");
  EXPECT_THAT(error_with("/normalizer", 3), HasSubstr("normalizer is 3, only null"));
  EXPECT_THAT(error_with("/truncation", {{"max_length", 5}}),
              HasSubstr("truncation is {\"max_length\":5}, only null"));
  EXPECT_THAT(error_with("/padding", json::object()), HasSubstr("padding is {}, only null"));
  EXPECT_EQ(error_with("/post_processor", {{"type", "TemplateProcessing"}}),
            "f: post_processor: type is \"TemplateProcessing\", supported: ByteLevel");
  EXPECT_THAT(error_with("/decoder", {{"type", "Metaspace"}}),
              HasSubstr("decoder: type is \"Metaspace\""));
  EXPECT_THAT(error_with("/decoder", nullptr), HasSubstr("decoder: null is not a JSON object"));
  EXPECT_THAT(error_with("/model/type", "Unigram"),
              HasSubstr("model: type is \"Unigram\", supported: BPE"));
  EXPECT_THAT(error_with("/model/dropout", 0.1), HasSubstr("model: dropout is 0.1, only null"));
  EXPECT_THAT(error_with("/model/end_of_word_suffix", "</w>"),
              HasSubstr("end_of_word_suffix is \"</w>\""));
  EXPECT_THAT(error_with("/model/continuing_subword_prefix", "##"),
              HasSubstr("continuing_subword_prefix is \"##\""));
  EXPECT_THAT(error_with("/model/byte_fallback", true), HasSubstr("byte_fallback is true"));
  json accepted = tiny_tokenizer_json();
  accepted["post_processor"] = {{"type", "ByteLevel"}};
  accepted["model"]["continuing_subword_prefix"] = "";
  accepted["model"]["byte_fallback"] = false;
  EXPECT_NO_THROW(Tokenizer::parse(accepted.dump(), "f"));
}

TEST(TokenizerJson, PreTokenizers) {
  EXPECT_THAT(error_with("/pre_tokenizer", nullptr),
              HasSubstr("pre_tokenizer: null is not a JSON object"));
  EXPECT_THAT(error_with("/pre_tokenizer/type", "Whitespace"),
              HasSubstr("type is \"Whitespace\", supported: ByteLevel, Sequence"));
  EXPECT_THAT(error_with("/pre_tokenizer/pretokenizers", json::array()),
              HasSubstr("must be a list of 1 to 16"));
  const std::string split = "/pre_tokenizer/pretokenizers/0",
                    last = "/pre_tokenizer/pretokenizers/1";
  EXPECT_THAT(error_with(split + "/type", "Digits"),
              HasSubstr("step 0: type is \"Digits\", supported: Split"));
  EXPECT_THAT(error_with(split + "/behavior", "Removed"),
              HasSubstr("behavior is \"Removed\", supported: Isolated"));
  EXPECT_THAT(error_with(split + "/invert", true), HasSubstr("invert is true"));
  EXPECT_THAT(error_with(split + "/pattern", {{"Glob", "*"}}),
              HasSubstr("pattern: Regex is missing"));
  EXPECT_THAT(error_with(last + "/type", "Split"),
              HasSubstr("step 1: type is \"Split\", supported: ByteLevel"));
  EXPECT_THAT(error_with(last + "/add_prefix_space", 1), HasSubstr("add_prefix_space is 1"));
}

TEST(TokenizerJson, Patterns) {
  const auto with = [](const std::string& regex) {
    return error_with("/pre_tokenizer/pretokenizers/0/pattern/Regex", regex);
  };
  EXPECT_THAT(
      with("a("),
      HasSubstr("pattern: the pattern is wrong at its byte 2: missing closing parenthesis"));
  EXPECT_THAT(with("\\p{Nonsense}"), HasSubstr("unknown property"));
  EXPECT_THAT(with("\\C"), HasSubstr("\\C"));
  EXPECT_THAT(with("a*"), HasSubstr("'a*' can match an empty string"));
  EXPECT_THAT(with("(?=b)"), HasSubstr("can match an empty string"));
  EXPECT_THAT(with(std::string(17'000, 'a')), HasSubstr("17000 bytes, at most 16384"));
  json file = tiny_tokenizer_json();
  file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "ab\\K";
  const Tokenizer keeps_nothing = Tokenizer::parse(file.dump(), "f");
  EXPECT_THAT(error_of([&] { keeps_nothing.encode("xxab"); }),
              HasSubstr("matched an empty string at byte 4"));
  file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "(x+x+)+[yz]";
  const Tokenizer exponential = Tokenizer::parse(file.dump(), "f");
  EXPECT_THAT(error_of([&] { exponential.encode(std::string(40, 'x') + '!'); }),
              HasSubstr("a pattern gave up on the text at byte 0: it takes too many steps"));
}

TEST(TokenizerJson, TheVocabularyIsOneToOneAndHoldsEveryByte) {
  EXPECT_THAT(error_with("/model/vocab/zz", 256), HasSubstr("have the same id 256"));
  EXPECT_THAT(error_with("/model/vocab/zz", -1),
              HasSubstr("vocab: 'zz' has the id -1, must be a whole number from 0 to 1048575"));
  EXPECT_THAT(error_with("/model/vocab/zz", 1048576), HasSubstr("'zz' has the id 1048576"));
  EXPECT_THAT(error_with("/model/vocab/zz", "1"), HasSubstr("'zz' has the id \"1\""));
  json file = tiny_tokenizer_json();
  file["model"]["vocab"].erase("Q");
  EXPECT_EQ(error_of([&] { Tokenizer::parse(file.dump(), "f"); }),
            "f: vocab lacks 'Q', the token of byte 81");
}

TEST(TokenizerJson, MergesNameTokens) {
  EXPECT_THAT(error_with("/model/merges", 3), HasSubstr("merges must be a list"));
  for (const json& bad : {json("ab"), json("a b c"), json(3), json::array({"a"}),
                          json::array({"a", "b", "c"}), json::array({"a", 1})}) {
    EXPECT_THAT(error_with("/model/merges/0", bad),
                HasSubstr("merge 0 is " + bad.dump() + ", must be two tokens"));
  }
  EXPECT_THAT(error_with("/model/merges/1", "b a"),
              HasSubstr("merge 1, 'b' with 'a', needs 'ba', which vocab lacks"));
  EXPECT_THAT(error_with("/model/merges/1", "nope a"),
              HasSubstr("needs 'nope', which vocab lacks"));
  EXPECT_THAT(error_with("/model/merges/1", "a b"),
              HasSubstr("merge 1, 'a' with 'b', stands twice"));
  json pairs = tiny_tokenizer_json();
  pairs["model"]["merges"] = json::parse(R"([["a", "b"], ["a", "a"], ["\u0120", "ab"]])");
  EXPECT_EQ(Tokenizer::parse(pairs.dump(), "f").encode(" ab"), std::vector<int>{258});
}

TEST(TokenizerJson, AddedTokensAreConsistent) {
  const auto with = [](const json& token) { return error_with("/added_tokens/1", token); };
  EXPECT_THAT(with(added_token(301, "", false)), HasSubstr("added token 1: content is empty"));
  EXPECT_THAT(with(added_token(301, "<|end|>", true)), HasSubstr("'<|end|>' stands twice"));
  EXPECT_THAT(with(added_token(300, "x y", false)),
              HasSubstr("'x y' has the id 300, which is that of '<|end|>'"));
  EXPECT_THAT(with(added_token(5, "x y", false)),
              HasSubstr("'x y' has the id 5, which is that of"));
  EXPECT_THAT(with(added_token(301, "ab", false)),
              HasSubstr("'ab' has the id 301, but 256 in the model's vocab"));
  EXPECT_THAT(with(added_token(-1, "x y", false)), HasSubstr("id is -1"));
  json token = added_token(301, "x y", false);
  token["single_word"] = true;
  EXPECT_THAT(with(token), HasSubstr("single_word is true"));
  for (const char* field :
       {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}) {
    token = added_token(301, "x y", false);
    token.erase(field);
    EXPECT_THAT(with(token), HasSubstr(std::string(field) + " is missing"));
  }
}

TEST(TokenizerJson, MissingPartsAreNamed) {
  for (const char* part : {"/model", "/decoder", "/pre_tokenizer", "/added_tokens", "/model/vocab",
                           "/model/merges", "/model/type"}) {
    json file = tiny_tokenizer_json();
    const json::json_pointer pointer(part);
    file[pointer.parent_pointer()].erase(pointer.back());
    EXPECT_THAT(error_of([&] { Tokenizer::parse(file.dump(), "f"); }),
                HasSubstr(pointer.back() + " is missing"));
  }
  const TempFolder folder;
  EXPECT_THAT(error_of([&] { Tokenizer::load(folder.path() / "tokenizer.json"); }),
              HasSubstr("cannot open"));
}

}  // namespace
}  // namespace octavo::model
