#pragma once
// Byte pair encoding (Sennrich, Haddow and Birch, 2016) over bytes: a word starts as its bytes'
// tokens, and the pair that was learnt first is merged, the leftmost of equals, until no learnt
// pair is left.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace octavo::model {

class Bpe {
 public:
  // `vocab` maps tokens, written in the byte-level alphabet, to ids; `merges` lists pairs of tokens
  // in the order they were learnt. Throws Error when one of the 256 bytes has no token, or a merge
  // names or makes a token that the vocabulary lacks, or stands twice. `origin` starts the
  // messages.
  Bpe(const std::unordered_map<std::string, int>& vocab,
      const std::vector<std::pair<std::string, std::string>>& merges, std::string_view origin);

  // Appends the ids of `word`, any bytes. Never makes a token t with avoid[t] by merging (ids
  // beyond `avoid` are free; a byte's own token is always allowed). Time n log n in the bytes.
  void encode(std::string_view word, const std::vector<bool>& avoid, std::vector<int>& ids) const;

  bool is_byte(int id) const;  // the token of a single byte

 private:
  struct Merge {
    int rank;
    int token;
  };
  const Merge* find(int left, int right) const;

  std::array<int, 256> byte_token_;
  std::unordered_map<std::uint64_t, Merge> merges_;  // of (left << 32 | right)
};

}  // namespace octavo::model
