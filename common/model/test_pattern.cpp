#include "common/model/pattern.h"

#include <gmock/gmock.h>

#include "common/base/error.h"
#include "common/model/test_files.h"

namespace octavo::model {
namespace {

using ::testing::HasSubstr;

TEST(Pattern, PiecesAreTheTextInOrder) {
  const auto split = [](const Pattern& pattern, std::string_view text) {
    StepBudget budget(text.size());
    std::vector<std::string_view> pieces;
    pattern.split(text, budget, pieces);
    return pieces;
  };
  using Pieces = std::vector<std::string_view>;
  EXPECT_EQ(split(Pattern::regex("[0-9]", "f"), "a12bc3"), (Pieces{"a", "1", "2", "bc", "3"}));
  EXPECT_EQ(split(Pattern::regex("[0-9]", "f"), ""), Pieces{});
  EXPECT_EQ(split(Pattern::literal("[0-9]", "f"), "a[0-9]1"), (Pieces{"a", "[0-9]", "1"}));
  EXPECT_EQ(split(Pattern::regex("^b", "f"), "ab\nb"), (Pieces{"ab\n", "b"}));  // ^ at every line
  EXPECT_EQ(split(Pattern::regex("\\p{Lu}", "f"), "aÉ\xcc\x81"), (Pieces{"a", "É", "\xcc\x81"}));
  // U+180E is no white space, and pieces are of the text given, not of the copy that was matched.
  EXPECT_EQ(split(Pattern::regex("\\s", "f"), "a\xe1\xa0\x8e b"),
            (Pieces{"a\xe1\xa0\x8e", " ", "b"}));
}

// How many pieces a pattern cuts a text into; steps are those of a text as long.
std::size_t pieces_of(const char* pattern, std::string_view text) {
  StepBudget budget(text.size());
  std::vector<std::string_view> pieces;
  Pattern::regex(pattern, "f").split(text, budget, pieces);
  return pieces.size();
}

std::string refusal(const char* pattern, std::string_view text) {
  return error_of([&] { pieces_of(pattern, text); });
}

// Steps are counted over the whole text: a pattern that is slow at each of many places, and never
// beyond the limit at one, ends too. What a long text honestly needs is there.
TEST(Pattern, StepsAreLimitedForAText) {
  std::string slow, runs;
  for (int i = 0; i < 300; ++i) slow += std::string(20, 'x') + '!';
  for (int i = 0; i < 300; ++i) runs += std::string(1000, ' ') + "a";
  EXPECT_THAT(refusal("(x+x+)+[yz]", slow), HasSubstr("it takes too many steps"));
  // all spaces but the last, that one, the letter
  EXPECT_EQ(pieces_of("\\s+(?!\\S)|\\s+", runs), 900u);
}

// Patterns that read to the end of the text, or far, from each of its places, and backtrack little
// or not at all: quick when they are refused, and minutes when they are not.
TEST(Pattern, ReadingFarFromEachPlaceIsRefused) {
  const std::string run(200'000, 'e');
  for (const char* quadratic :
       {"\\w+!", "(?>\\w+)!", "(?>\\w*)\\d", "[^!]++!", ".++!", "(?=\\w++!).", "(?:\\w++!|e)+?Z",
        "e{60000}!", "(?:ee)++!", "\\X++!", "\\w+(?=!)", "\\x{65}{60000}!"}) {
    EXPECT_THAT(refusal(quadratic, run), HasSubstr("it takes too many steps")) << quadratic;
  }
  EXPECT_THAT(refusal("\\w++!", std::string(1'000'000, 'e')), HasSubstr("it takes too many steps"));
  std::string runs;  // x{m} reads a run that is one letter too short
  while (runs.size() < run.size()) runs += std::string(59'999, 'e') + ' ';
  EXPECT_THAT(refusal("e{60000}", runs), HasSubstr("it takes too many steps"));
}

TEST(Pattern, AMegabyteThatIsReadOnceIsCut) {
  const std::string run(1'000'000, 'e'), spaces(1'000'000, ' ');
  for (const char* linear :
       {"\\w++", "\\w+", "\\w+!|\\w+", "(?>\\w+)", "[^!]+", "\\w+(?!\\w)", "e{60000,}"}) {
    EXPECT_EQ(pieces_of(linear, run), 1u) << linear;
  }
  EXPECT_EQ(pieces_of("\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", spaces), 1u);
  EXPECT_EQ(pieces_of("\\p{N}{1,3}|\\p{L}", run), 1'000'000u);
  EXPECT_EQ(pieces_of("\\x{1000}|\\x{65}", run), 1'000'000u);
}

// What one piece has used another one lacks: many short pieces are no way round the limit.
TEST(Pattern, TheBudgetIsOfAllPieces) {
  const Pattern pattern = Pattern::regex("(x+x+)+[yz]", "f");
  const std::string piece(16, 'x');
  StepBudget budget(100 * piece.size());
  std::vector<std::string_view> pieces;
  EXPECT_NO_THROW(pattern.split(piece, budget, pieces));
  EXPECT_THROW(for (int i = 0; i < 100; ++i) pattern.split(piece, budget, pieces), Error);
}

}  // namespace
}  // namespace octavo::model
