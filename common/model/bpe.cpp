#include "common/model/bpe.h"

#include <algorithm>
#include <queue>

#include "common/base/error.h"
#include "common/model/byte_level.h"

namespace octavo::model {
namespace {

std::uint64_t key_of(int left, int right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
}

// A token of the word so far, in a list linked both ways by position; merged-away ones have token
// -1.
struct Symbol {
  int token;
  std::int64_t previous, next;  // -1: none
};

struct Candidate {
  int rank;
  std::int64_t position;  // of the left symbol
  int token;              // what the pair would become

  // std::priority_queue takes the greatest: the lowest rank, then the leftmost.
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : position > other.position;
  }
};

}  // namespace

Bpe::Bpe(const std::unordered_map<std::string, int>& vocab,
         const std::vector<std::pair<std::string, std::string>>& merges, std::string_view origin) {
  for (std::size_t b = 0; b < 256; ++b) {
    const auto found = vocab.find(byte_level_alphabet()[b]);
    require(found != vocab.end(), "{}: vocab lacks '{}', the token of byte {}", origin,
            byte_level_alphabet()[b], b);
    byte_token_[b] = found->second;
  }
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const std::string &left = merges[i].first, &right = merges[i].second;
    const auto token_of = [&](const std::string& token) {
      const auto found = vocab.find(token);
      if (found == vocab.end()) {
        fail("{}: merge {}, '{}' with '{}', needs '{}', which vocab lacks", origin, i, left, right,
             token);
      }
      return found->second;
    };
    const int l = token_of(left), r = token_of(right), merged = token_of(left + right);
    require(merges_.emplace(key_of(l, r), Merge{static_cast<int>(i), merged}).second,
            "{}: merge {}, '{}' with '{}', stands twice", origin, i, left, right);
  }
}

const Bpe::Merge* Bpe::find(int left, int right) const {
  const auto found = merges_.find(key_of(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

bool Bpe::is_byte(int id) const {
  return std::find(byte_token_.begin(), byte_token_.end(), id) != byte_token_.end();
}

void Bpe::encode(std::string_view word, const std::vector<bool>& avoid,
                 std::vector<int>& ids) const {
  const auto n = static_cast<std::int64_t>(word.size());
  std::vector<Symbol> symbols(word.size());
  for (std::int64_t i = 0; i < n; ++i) {
    symbols[static_cast<std::size_t>(i)] = {
        byte_token_[static_cast<unsigned char>(word[static_cast<std::size_t>(i)])], i - 1,
        i + 1 < n ? i + 1 : -1};
  }
  const auto at = [&](std::int64_t position) -> Symbol& {
    return symbols[static_cast<std::size_t>(position)];
  };
  std::vector<Candidate> storage;
  storage.reserve(word.size());
  std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(storage));
  const auto consider = [&](std::int64_t position) {
    if (position < 0 || at(position).next < 0) return;
    const Merge* const merge = find(at(position).token, at(at(position).next).token);
    if (merge == nullptr) return;
    const auto token = static_cast<std::size_t>(merge->token);
    if (token < avoid.size() && avoid[token]) return;
    queue.push({merge->rank, position, merge->token});
  };
  for (std::int64_t i = 0; i + 1 < n; ++i) consider(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = at(best.position);
    if (left.token < 0 || left.next < 0) continue;
    Symbol& right = at(left.next);
    // The pair may have changed since it was queued. Like the package, go by what it would become:
    // two pairs can make one token.
    const Merge* const merge = find(left.token, right.token);
    if (merge == nullptr || merge->token != best.token) continue;
    left.token = best.token;
    right.token = -1;
    left.next = right.next;
    if (left.next >= 0) at(left.next).previous = best.position;
    consider(left.previous);
    consider(best.position);
  }
  for (std::int64_t i = 0; i >= 0 && i < n; i = at(i).next) ids.push_back(at(i).token);
}

}  // namespace octavo::model
