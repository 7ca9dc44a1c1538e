#pragma once
// tokenizer.json of a byte-level BPE checkpoint: text to token ids and back, with the ids of the
// `tokenizers` package.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/model/added_tokens.h"
#include "common/model/bpe.h"
#include "common/model/pattern.h"

namespace octavo::model {

// How text becomes words before BPE: cut by each pattern in turn, then (GPT-2) a space put before a
// word that has none.
struct PreTokenizer {
  std::vector<Pattern> splits;
  bool add_prefix_space = false;
  std::optional<Pattern> after_space;  // the pattern of a ByteLevel step with use_regex
};

// What tokenizer.json describes, checked (tokenizer_json.cpp).
struct TokenizerParts {
  std::unordered_map<std::string, int> vocab;  // tokens in the byte-level alphabet
  std::vector<std::pair<std::string, std::string>> merges;
  std::vector<AddedToken> added;
  PreTokenizer pre_tokenizer;
  // a word that is a token as it stands is that token, whatever the merges say
  bool ignore_merges = false;
};

// Reads the text of a tokenizer.json; `origin` starts every message. Supported: model BPE without
// dropout, prefixes, suffixes or byte fallback; normalizer null; pre_tokenizer ByteLevel, or
// Sequence of Split (Isolated) and a last ByteLevel; post_processor null or ByteLevel; decoder
// ByteLevel; truncation and padding null. Throws Error that names the part for anything else, and
// for a vocabulary, merges or added tokens that contradict themselves.
TokenizerParts parse_tokenizer_json(std::string_view json, std::string_view origin);

// Immutable; one may serve many threads.
class Tokenizer {
 public:
  // Throws Error as parse_tokenizer_json does.
  static Tokenizer load(const std::filesystem::path& tokenizer_json);
  static Tokenizer parse(std::string_view json, std::string_view origin);

  // Token ids of `text`; no token is added before or after. With Specials::kAsText no id of a
  // special token comes out, whatever `text` says. Throws Error for invalid UTF-8, naming the byte,
  // and for a text on which the patterns take too many steps (StepBudget).
  std::vector<int> encode(std::string_view text, Specials specials = Specials::kParse) const;

  // The text of `ids`: invalid UTF-8 becomes U+FFFD (take_utf8). Special tokens are left out unless
  // `show_specials`. An id without a token, as a model with a padded vocabulary may give, stands
  // for nothing.
  std::string decode(std::span<const int> ids, bool show_specials = false) const;

  int vocab_size() const { return static_cast<int>(bytes_.size()); }  // one past the greatest id
  // The id of a token as tokenizer.json writes it, in the byte-level alphabet unless added.
  std::optional<int> id_of(std::string_view token) const;
  // The bytes a token stands for, perhaps half a code point; empty for an id without a token.
  std::string_view bytes_of(int id) const;
  bool is_special(int id) const;

 private:
  explicit Tokenizer(TokenizerParts parts, std::string_view origin);
  void encode_text(std::string_view text, Specials specials, StepBudget& budget,
                   std::vector<int>& ids) const;
  void encode_word(std::string_view word, Specials specials, std::vector<int>& ids) const;

  std::unordered_map<std::string, int> ids_;  // of all tokens, added ones too
  std::unordered_map<std::string, int>
      words_;                       // of the model's vocabulary, by bytes; only with ignore_merges
  std::vector<std::string> bytes_;  // by id
  std::vector<bool> special_;       // by id
  Bpe bpe_;
  AddedTokens added_;
  PreTokenizer pre_tokenizer_;
};

// Text as it grows, one token at a time: what push and finish return, joined, is decode of all ids,
// and no piece ends inside a code point. Borrows the tokenizer.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool show_specials = false)
      : tokenizer_(&tokenizer), show_specials_(show_specials) {}

  std::string push(int id);  // the text that is certain now; may be empty
  std::string
  finish();  // the rest: U+FFFD for a code point that never became whole. Ready for another text.

 private:
  const Tokenizer* tokenizer_;
  bool show_specials_;
  std::string pending_;  // the start of a code point, at most 3 bytes
};

}  // namespace octavo::model
