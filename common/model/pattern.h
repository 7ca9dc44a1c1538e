#pragma once
// The patterns of pre-tokenizers, through PCRE2: a text is cut into its matches and the stretches
// between them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;

namespace octavo::model {

// What all patterns together may spend on one text of so many bytes: a million steps, and 100 more
// for each byte. A step tries an item of a pattern, or goes over a byte of the text.
struct StepBudget {
  explicit StepBudget(std::size_t bytes);
  std::int64_t steps;  // that are left
};

// Move-only; split may be called from several threads.
class Pattern {
 public:
  // A regular expression over code points with Unicode classes (of PCRE2's Unicode version, 14
  // with 10.42: letters and digits that are newer belong to no class), ^ and $ at every line, as
  // the `tokenizers` package reads it. `origin` starts the messages. Throws Error for a pattern
  // that PCRE2 does not take, one above 16 KiB, and one that can match nothing at all (it would cut
  // a text everywhere).
  static Pattern regex(std::string_view pattern, std::string_view origin);
  // The string itself.
  static Pattern literal(std::string_view text, std::string_view origin);

  // Appends the pieces of `text`, which must be valid UTF-8, in order: together they are the text,
  // none is empty. Throws Error when the pattern takes more steps than the budget has, beside 100
  // at each place of the text, or 64 MiB for one match.
  void split(std::string_view text, StepBudget& budget,
             std::vector<std::string_view>& pieces) const;

 private:
  struct FreeCode {
    void operator()(pcre2_real_code_8* code) const;
  };

  Pattern(std::string_view pattern, std::string_view origin, bool literal);

  std::unique_ptr<pcre2_real_code_8, FreeCode> code_;
  std::string source_;
  bool literal_;
};

}  // namespace octavo::model
