#include "common/model/added_tokens.h"

#include <algorithm>

#include "common/model/utf8.h"

namespace octavo::model {
namespace {

std::size_t leading_space(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size()) {
    const Utf8Step step = utf8_step(text.substr(n));
    if (!is_white_space(step.code_point)) break;
    n += step.length;
  }
  return n;
}

std::size_t trailing_space(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size()) {
    std::size_t start = text.size() - n - 1;  // back to the lead byte of the code point before
    while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xc0u) == 0x80u) --start;
    if (!is_white_space(utf8_step(text.substr(start)).code_point)) break;
    n = text.size() - start;
  }
  return n;
}

}  // namespace

void AddedTokens::Trie::add(std::string_view content, int index) {
  int node = 0;
  first[static_cast<unsigned char>(content[0])] = true;
  for (const char c : content) {
    const auto edge = static_cast<std::uint64_t>(node) << 8 | static_cast<unsigned char>(c);
    const auto [found, is_new] = edges.emplace(edge, static_cast<int>(token.size()));
    if (is_new) token.push_back(-1);
    node = found->second;
  }
  token[static_cast<std::size_t>(node)] = index;
}

int AddedTokens::Trie::longest(std::string_view text) const {
  int node = 0, best = -1;
  for (const char c : text) {
    const auto found =
        edges.find(static_cast<std::uint64_t>(node) << 8 | static_cast<unsigned char>(c));
    if (found == edges.end()) break;
    node = found->second;
    if (token[static_cast<std::size_t>(node)] >= 0) best = token[static_cast<std::size_t>(node)];
  }
  return best;
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    (tokens_[i].normalized ? normalized_ : raw_).add(tokens_[i].content, static_cast<int>(i));
  }
}

void AddedTokens::split(const Trie& trie, std::string_view text, Specials specials,
                        std::vector<Segment>& out) const {
  std::size_t reached = 0;  // segments cover [0, reached)
  for (std::size_t at = 0; at < text.size();) {
    const int found =
        trie.first[static_cast<unsigned char>(text[at])] ? trie.longest(text.substr(at)) : -1;
    if (found < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(found)];
    std::size_t begin = at, end = at + token.content.size();
    at = end;
    if (token.special && specials == Specials::kAsText) continue;
    if (token.lstrip) begin -= trailing_space(text.substr(0, begin));
    if (token.rstrip) end += leading_space(text.substr(end));
    begin = std::max(begin, reached);  // space that the token before has swallowed already
    if (begin > reached) out.push_back({-1, text.substr(reached, begin - reached)});
    out.push_back({token.id, {}});
    reached = std::max(reached, end);
  }
  if (reached < text.size()) out.push_back({-1, text.substr(reached)});
}

std::vector<Segment> AddedTokens::split(std::string_view text, Specials specials) const {
  std::vector<Segment> first, all;
  split(raw_, text, specials, first);
  for (const Segment& segment : first) {
    if (segment.id >= 0) {
      all.push_back(segment);
    } else {
      split(normalized_, segment.text, specials, all);
    }
  }
  return all;
}

}  // namespace octavo::model
