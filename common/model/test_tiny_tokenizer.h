#pragma once
// Tokenizers for the tests: the embedded one, the goldens, and a tiny one whose ids can be read
// off.

#include <nlohmann/json.hpp>
#include <string>

#include "common/model/byte_level.h"
#include "common/model/tokenizer.h"

namespace octavo::model {

inline nlohmann::json added_token(int id, const std::string& content, bool special) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

// Byte b is token b; 256 "ab", 257 "aa", 258 " ab" in this order; 300 <|end|> special, 301 "a
// token" not. One ASCII letter with at most a space before it, or more of them, is a word; so is
// any other character.
inline nlohmann::json tiny_tokenizer_json() {
  nlohmann::json vocab;
  for (std::size_t b = 0; b < 256; ++b) vocab[byte_level_alphabet()[b]] = b;
  vocab["ab"] = 256;
  vocab["aa"] = 257;
  vocab
      ["\xc4\xa0"
       "ab"] = 258;
  const nlohmann::json split = {{"type", "Split"},
                                {"pattern", {{"Regex", " ?[a-z]+|(?s:.)"}}},
                                {"behavior", "Isolated"},
                                {"invert", false}};
  const nlohmann::json byte_level = {{"type", "ByteLevel"},
                                     {"add_prefix_space", false},
                                     {"trim_offsets", true},
                                     {"use_regex", false}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", {added_token(300, "<|end|>", true), added_token(301, "a token", false)}},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {split, byte_level}}}},
          {"post_processor", nullptr},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"vocab", vocab},
            {"merges", {"a b", "a a", "\xc4\xa0 ab"}}}}};
}

inline Tokenizer tiny_tokenizer() { return Tokenizer::parse(tiny_tokenizer_json().dump(), "tiny"); }

}  // namespace octavo::model
