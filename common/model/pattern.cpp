#define PCRE2_CODE_UNIT_WIDTH 8
#include "common/model/pattern.h"

#include <pcre2.h>

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>

#include "common/base/error.h"

namespace octavo::model {
namespace {

constexpr std::size_t kMaxPatternBytes = 16 * 1024;
constexpr std::uint32_t kMaxHeapKiB = 64 * 1024;

// A match takes a step for each item of the pattern that it tries, for each byte that it goes
// forward by, and m before it tries x{m,n}, which may read so much and then fail. Every place of a
// text has some steps free, since a match must be tried at each.
constexpr std::int64_t kMaxSteps = 1'000'000, kMaxStepsAByte = 100, kFreeSteps = 100;

// PCRE2 counts U+180E as white space, Unicode has not done so since 6.3. While matching it is
// replaced by U+200B, which has its length and, today, all its properties that a pattern asks for.
constexpr std::string_view kVowelSeparator = "\xe1\xa0\x8e", kZeroWidthSpace = "\xe2\x80\x8b";

std::string message_of(int code) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

// m of an item x{m,n}; 0 of any other.
std::int64_t least_repeats(std::string_view item) {
  const std::size_t brace = item.rfind('{');
  const bool is_code_point =
      brace == 2 && (item.substr(0, 2) == "\\x" || item.substr(0, 2) == "\\o");
  std::int64_t repeats = 0;
  if (brace != std::string_view::npos && !is_code_point)
    std::from_chars(item.data() + brace + 1, item.data() + item.size(), repeats);
  return repeats;
}

// Looks for the matches of one pattern in one text, in order. PCRE2's own limit is of backtracking
// alone: \w++ reads a megabyte in no step of that, and does so again from the next place. Patterns
// are compiled so that PCRE2 calls back before each of their items, and the steps are counted
// there.
class Matcher {
 public:
  Matcher(const pcre2_code* code, std::string_view pattern, std::string_view text,
          StepBudget& budget)
      : code_(code), pattern_(pattern), text_(text), budget_(budget) {
    pcre2_set_heap_limit(context_, kMaxHeapKiB);
    pcre2_set_match_limit(context_, std::numeric_limits<std::uint32_t>::max());
    pcre2_set_callout(context_, item_begins, this);
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
  static int item_begins(pcre2_callout_block* block, void* matcher) {
    auto* const self = static_cast<Matcher*>(matcher);
    return self->count(block->current_position,
                       self->pattern_.substr(block->pattern_position, block->next_item_length));
  }

  // The text is at `position`; `item` is about to be tried.
  int count(std::size_t position, std::string_view item) {
    steps_ += position > reached_ ? static_cast<std::int64_t>(position - reached_) + 1 : 1;
    steps_ += least_repeats(item);
    reached_ = position;
    return steps_ <= kFreeSteps + budget_.steps ? 0 : PCRE2_ERROR_CALLOUT;
  }

  bool matches_at(std::size_t at) {
    steps_ = 0;
    reached_ = at;
    const int count = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(),
                                  at, PCRE2_NO_UTF_CHECK | PCRE2_ANCHORED, data_, context_);
    if (steps_ > kFreeSteps) budget_.steps -= steps_ - kFreeSteps;
    if (count >= 0) return true;
    if (count == PCRE2_ERROR_NOMATCH) return false;
    fail("a pattern gave up on the text at byte {}: {}", at,
         count == PCRE2_ERROR_CALLOUT ? "it takes too many steps" : message_of(count));
  }

  const pcre2_code* code_;
  std::string_view pattern_, text_;
  StepBudget& budget_;
  std::int64_t steps_ = 0;   // of the match that is tried
  std::size_t reached_ = 0;  // where its last item began
  pcre2_match_context* context_ = pcre2_match_context_create(nullptr);
  pcre2_match_data* data_ = pcre2_match_data_create(1, nullptr);
};

}  // namespace

StepBudget::StepBudget(std::size_t bytes)
    : steps(kMaxSteps + kMaxStepsAByte * static_cast<std::int64_t>(bytes)) {}

void Pattern::FreeCode::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Pattern::Pattern(std::string_view pattern, std::string_view origin, bool literal)
    : source_(pattern), literal_(literal) {
  require(pattern.size() <= kMaxPatternBytes, "{}: the pattern has {} bytes, at most {}", origin,
          pattern.size(), kMaxPatternBytes);
  // \C would match half a code point.
  const std::uint32_t options =
      PCRE2_UTF | PCRE2_AUTO_CALLOUT |
      (literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C);
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

void Pattern::split(std::string_view text, StepBudget& budget,
                    std::vector<std::string_view>& pieces) const {
  std::string copy;
  std::string_view subject = text;
  if (!literal_ && text.find(kVowelSeparator) != std::string_view::npos) {
    copy = text;
    for (std::size_t at = 0; (at = copy.find(kVowelSeparator, at)) != std::string::npos;) {
      copy.replace(at, kVowelSeparator.size(), kZeroWidthSpace);
    }
    subject = copy;
  }
  Matcher matcher(code_.get(), source_, subject, budget);
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
