#include <gmock/gmock.h>
#include <sys/stat.h>

#include "common/model/file.h"
#include "common/model/json.h"
#include "common/model/test_files.h"

namespace octavo::model {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string nested(int depth, char open, char close) {
  return std::string(static_cast<std::size_t>(depth), open) +
         std::string(static_cast<std::size_t>(depth), close);
}

TEST(Json, ReadsWhatItShould) {
  const auto document = parse_json(R"({"a": [1, -2.5, "x", null, true], "b": {"a": {}}})", "f");
  EXPECT_EQ(document["a"][0], 1);
  EXPECT_TRUE(document["b"]["a"].is_object());
}

TEST(Json, DepthIsBoundedBeforeAnythingRecurses) {
  EXPECT_NO_THROW(parse_json(nested(kMaxJsonDepth, '[', ']'), "f"));
  EXPECT_THAT(error_of([] { parse_json(nested(kMaxJsonDepth + 1, '[', ']'), "f"); }),
              StartsWith("f: JSON nested deeper than 64 levels"));
  EXPECT_THAT(error_of([] { parse_json(nested(25'000'000, '[', ']'), "f"); }),
              HasSubstr("deeper than 64"));
  std::string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += R"({"a":)";
  EXPECT_THAT(error_of([&] { parse_json(objects, "f"); }), HasSubstr("deeper than 64"));
  // Brackets inside strings are not nesting.
  EXPECT_NO_THROW(parse_json("[\"" + nested(1000, '[', '{') + "\"]", "f"));
  EXPECT_NO_THROW(parse_json("[\"\\\"" + nested(1000, '[', '{') + "\"]", "f"));
}

TEST(Json, RefusesAKeyThatStandsTwice) {
  EXPECT_EQ(error_of([] { parse_json(R"({"a": 1, "b": 2, "a": 1})", "f"); }),
            "f: the key 'a' stands twice in one object");
  EXPECT_THAT(error_of([] { parse_json(R"([{"x": {"a": 1, "\u0061": 2}}])", "f"); }),
              HasSubstr("'a' stands twice"));
  EXPECT_NO_THROW(parse_json(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]})", "f"));
}

TEST(Json, NamesTheByteOfASyntaxError) {
  EXPECT_THAT(error_of([] { parse_json(R"({"a": tru})", "f"); }),
              StartsWith("f: not valid JSON at byte 10"));
  for (const char* text :
       {"", " ", "{", "[1,]", "{} {}", "\"\xff\"", "01", "1e999", "nan", "{'a': 1}", "[\"\n\"]"}) {
    EXPECT_THAT(error_of([&] { parse_json(text, "f"); }), StartsWith("f: not valid JSON at byte"))
        << text;
  }
}

TEST(Json, ShownValuesAreCutBetweenCodePoints) {
  EXPECT_EQ(shown(nlohmann::json::array({1, "a"})), R"([1,"a"])");
  const std::string text = shown(nlohmann::json(std::string(58, 'x') + "\xe2\x82\xac and more"));
  EXPECT_EQ(text, "\"" + std::string(58, 'x') + "...");
}

TEST(Fields, SayWhatWasWrongTheValueAndTheLimit) {
  const auto document = parse_json(
      R"({"n": 7, "half": 1.5, "huge": 18446744073709551615, "text": "x", "none": null, "yes": true, "o": {"n": "q"}})",
      "f");
  const Fields f(document, "f");
  EXPECT_EQ(f.whole("n", 1, 7), 7);
  EXPECT_EQ(f.number("half", 0, 2), 1.5);
  EXPECT_EQ(f.text("text"), "x");
  EXPECT_TRUE(f.flag("yes"));
  EXPECT_EQ(f.choice("text", {"w", "x"}), 1);
  EXPECT_FALSE(f.has("none"));
  EXPECT_FALSE(f.has("absent"));
  EXPECT_EQ(error_of([&] { f.whole("absent", 1, 2); }), "f: absent is missing");
  EXPECT_EQ(error_of([&] { f.whole("n", 1, 6); }), "f: n is 7, must be a whole number from 1 to 6");
  EXPECT_EQ(error_of([&] { f.whole("n", 8, 9); }), "f: n is 7, must be a whole number from 8 to 9");
  EXPECT_EQ(error_of([&] { f.whole("half", 1, 6); }),
            "f: half is 1.5, must be a whole number from 1 to 6");
  EXPECT_THAT(error_of([&] { f.whole("huge", -1, INT64_MAX); }),
              HasSubstr("huge is 18446744073709551615"));
  EXPECT_EQ(error_of([&] { f.number("text", 0, 1); }),
            "f: text is \"x\", must be a number from 0 to 1");
  EXPECT_EQ(error_of([&] { f.number("half", 2, 3); }),
            "f: half is 1.5, must be a number from 2 to 3");
  EXPECT_EQ(error_of([&] { f.flag("none"); }), "f: none is null, must be true or false");
  EXPECT_EQ(error_of([&] { f.text("n"); }), "f: n is 7, must be a string");
  EXPECT_EQ(error_of([&] { f.choice("text", {"a", "b"}); }), "f: text is \"x\", supported: a, b");
  EXPECT_EQ(error_of([&] { f.inner("o").whole("n", 0, 1); }),
            "f: o: n is \"q\", must be a whole number from 0 to 1");
  EXPECT_THAT(error_of([&] { f.inner("n"); }), HasSubstr("is not a JSON object"));
}

TEST(File, MapsRegularFilesOnly) {
  const TempFolder folder;
  EXPECT_EQ(read_text(folder.write("a", "text"), 4), "text");
  EXPECT_TRUE(MappedFile(folder.write("empty", "")).bytes().empty());
  EXPECT_THAT(error_of([&] { read_text(folder.path() / "a", 3); }),
              HasSubstr("4 bytes, at most 3 are read"));
  EXPECT_THAT(error_of([&] { MappedFile f(folder.path() / "none"); }),
              HasSubstr("cannot open: No such file"));
  EXPECT_THAT(error_of([&] { MappedFile f(folder.path()); }), HasSubstr("is not a regular file"));
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { MappedFile f(pipe); }), HasSubstr("is not a regular file"));
}

TEST(File, TheMappingMovesWithItsOwner) {
  const TempFolder folder;
  MappedFile a(folder.write("a", "abc"));
  const std::byte* const data = a.bytes().data();
  MappedFile b(std::move(a));
  EXPECT_EQ(b.bytes().data(), data);
  MappedFile c(folder.write("c", "xyzw"));
  c = std::move(b);
  EXPECT_EQ(c.bytes().size(), 3u);
  EXPECT_EQ(std::to_integer<char>(c.bytes()[2]), 'c');
}

}  // namespace
}  // namespace octavo::model
