#define PCRE2_CODE_UNIT_WIDTH 8
#include "common/model/pattern.h"

#include <pcre2.h>

#include <cstdint>
#include <string>

#include "common/base/error.h"

namespace octavo::model {
namespace {

constexpr std::size_t kMaxPatternBytes = 16 * 1024;
constexpr std::uint32_t kMaxHeapKiB = 64 * 1024;

// Steps of backtracking that one text may cost: so many, and so many more a byte. PCRE2 limits the
// steps of one match from one place and does not say how many it took. So a match gets few at
// first, which are free, and ten times as many when they were not enough; those are counted.
constexpr std::int64_t kMaxSteps = 1'000'000, kMaxStepsAByte = 100;
constexpr std::uint32_t kFreeSteps = 100;

// PCRE2 counts U+180E as white space, Unicode has not done so since 6.3. While matching it is
// replaced by U+200B, which has its length and, today, all its properties that a pattern asks for.
constexpr std::string_view kVowelSeparator = "\xe1\xa0\x8e", kZeroWidthSpace = "\xe2\x80\x8b";

std::string message_of(int code) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

// Looks for the matches of one pattern in one text, in order.
class Matcher {
 public:
  Matcher(const pcre2_code* code, std::string_view text)
      : code_(code),
        text_(text),
        steps_left_(kMaxSteps + kMaxStepsAByte * static_cast<std::int64_t>(text.size())) {
    pcre2_set_heap_limit(context_, kMaxHeapKiB);
  }
  ~Matcher() {
    pcre2_match_data_free(data_);
    pcre2_match_context_free(context_);
  }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  // The first match that begins at byte `from` or later. Each place is tried by itself, since a
  // search of PCRE2's own would begin counting steps anew at each.
  bool next(std::size_t from) {
    for (std::size_t at = from; at < text_.size(); ++at) {
      const bool inside = (static_cast<unsigned char>(text_[at]) & 0xc0u) == 0x80u;
      if (!inside && matches_at(at)) return true;
    }
    return false;
  }
  std::size_t begin() const { return pcre2_get_ovector_pointer(data_)[0]; }
  std::size_t end() const { return pcre2_get_ovector_pointer(data_)[1]; }

 private:
  bool matches_at(std::size_t at) {
    for (std::uint32_t limit = kFreeSteps;; limit *= 10) {
      pcre2_set_match_limit(context_, limit);
      const int count = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(),
                                    at, PCRE2_NO_UTF_CHECK | PCRE2_ANCHORED, data_, context_);
      if (count >= 0) return true;
      if (count == PCRE2_ERROR_NOMATCH) return false;
      if (count == PCRE2_ERROR_MATCHLIMIT) steps_left_ -= limit;
      if (count != PCRE2_ERROR_MATCHLIMIT || steps_left_ <= 0)
        fail("a pattern gave up on the text at byte {}: {}", at, message_of(count));
    }
  }

  const pcre2_code* code_;
  std::string_view text_;
  std::int64_t steps_left_;
  pcre2_match_context* context_ = pcre2_match_context_create(nullptr);
  pcre2_match_data* data_ = pcre2_match_data_create(1, nullptr);
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
  Matcher matcher(code_.get(), subject);
  std::size_t reached = 0;  // pieces cover [0, reached)
  while (reached < text.size() && matcher.next(reached)) {
    const std::size_t begin = matcher.begin(), end = matcher.end();
    // \K can still move a match's start to its end, or before the place where the search began.
    require(begin >= reached && end > begin, "a pattern matched an empty string at byte {}", end);
    if (begin > reached) pieces.push_back(text.substr(reached, begin - reached));
    pieces.push_back(text.substr(begin, end - begin));
    reached = end;
  }
  if (reached < text.size()) pieces.push_back(text.substr(reached));
}

}  // namespace octavo::model
