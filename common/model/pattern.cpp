#define PCRE2_CODE_UNIT_WIDTH 8
#include "common/model/pattern.h"

#include <pcre2.h>

#include <cstdint>
#include <string>

#include "common/base/error.h"

namespace octavo::model {
namespace {

constexpr std::size_t kMaxPatternBytes = 16 * 1024;
constexpr std::uint32_t kMaxSteps = 10'000'000;
constexpr std::uint32_t kMaxHeapKiB = 64 * 1024;

// PCRE2 counts U+180E as white space, Unicode has not done so since 6.3. While matching it is
// replaced by U+200B, which has its length and, today, all its properties that a pattern asks for.
constexpr std::string_view kVowelSeparator = "\xe1\xa0\x8e", kZeroWidthSpace = "\xe2\x80\x8b";

std::string message_of(int code) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

struct Matcher {
  Matcher() {
    pcre2_set_match_limit(context, kMaxSteps);
    pcre2_set_heap_limit(context, kMaxHeapKiB);
  }
  ~Matcher() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
  }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
};

}  // namespace

void Pattern::FreeCode::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Pattern::Pattern(std::string_view pattern, std::string_view origin, bool literal)
    : literal_(literal) {
  require(pattern.size() <= kMaxPatternBytes, "{}: the pattern has {} bytes, at most {}", origin,
          pattern.size(), kMaxPatternBytes);
  // \C would match half a code point.
  const std::uint32_t options =
      literal ? PCRE2_UTF | PCRE2_LITERAL
              : PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  int error = 0;
  std::size_t offset = 0;
  code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options,
                            &error, &offset, nullptr));
  if (!code_)
    fail("{}: the pattern is wrong at its byte {}: {}", origin, offset, message_of(error));
  std::uint32_t matches_nothing = 0;
  pcre2_pattern_info(code_.get(), PCRE2_INFO_MATCHEMPTY, &matches_nothing);
  require(matches_nothing == 0, "{}: the pattern '{}' can match an empty string", origin, pattern);
}

Pattern Pattern::regex(std::string_view pattern, std::string_view origin) {
  return {pattern, origin, false};
}

Pattern Pattern::literal(std::string_view text, std::string_view origin) {
  return {text, origin, true};
}

void Pattern::split(std::string_view text, std::vector<std::string_view>& pieces) const {
  std::string copy;
  std::string_view subject = text;
  if (!literal_ && text.find(kVowelSeparator) != std::string_view::npos) {
    copy = text;
    for (std::size_t at = 0; (at = copy.find(kVowelSeparator, at)) != std::string::npos;) {
      copy.replace(at, kVowelSeparator.size(), kZeroWidthSpace);
    }
    subject = copy;
  }
  const Matcher matcher;
  std::size_t reached = 0;  // pieces cover [0, reached)
  while (reached < text.size()) {
    const int count =
        pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(),
                    reached, PCRE2_NO_UTF_CHECK, matcher.data, matcher.context);
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0) fail("a pattern gave up on the text at byte {}: {}", reached, message_of(count));
    const std::size_t* const bounds = pcre2_get_ovector_pointer(matcher.data);
    // \K can still move a match's start to its end, or before the place where the search began.
    require(bounds[0] >= reached && bounds[1] > bounds[0],
            "a pattern matched an empty string at byte {}", bounds[1]);
    if (bounds[0] > reached) pieces.push_back(text.substr(reached, bounds[0] - reached));
    pieces.push_back(text.substr(bounds[0], bounds[1] - bounds[0]));
    reached = bounds[1];
  }
  if (reached < text.size()) pieces.push_back(text.substr(reached));
}

}  // namespace octavo::model
