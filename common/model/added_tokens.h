#pragma once
// Tokens that are found in the text itself before anything else happens to it: control tokens such
// as <|user|>, and words added after training.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace octavo::model {

struct AddedToken {
  int id = 0;
  std::string content;
  bool lstrip = false;      // swallows the white space before it
  bool rstrip = false;      // swallows the white space after it
  bool normalized = false;  // sought after those that are not, in the text these leave
  bool special = false;     // a control token
};

// What texts with control tokens in them mean.
enum class Specials {
  kParse,   // "<|user|>" is the control token: for templates
  kAsText,  // it is text like any other: for everything a user wrote
};

// A piece of a text: an added token, or text (id -1).
struct Segment {
  int id = -1;
  std::string_view text;
};

// A fixed set of added tokens, found leftmost first, the longest at one place.
class AddedTokens {
 public:
  AddedTokens() = default;
  explicit AddedTokens(std::vector<AddedToken> tokens);

  const std::vector<AddedToken>& tokens() const { return tokens_; }

  // Cuts `text` (valid UTF-8) at its added tokens. No text segment is empty.
  std::vector<Segment> split(std::string_view text, Specials specials) const;

 private:
  // A byte trie. Node 0 is the root; an edge is (node << 8 | byte).
  struct Trie {
    void add(std::string_view content, int token);
    // The longest content that `text` starts with: index into tokens_, or -1.
    int longest(std::string_view text) const;

    std::unordered_map<std::uint64_t, int> edges;
    std::vector<int> token = {-1};
    std::array<bool, 256> first{};
  };

  void split(const Trie& trie, std::string_view text, Specials specials,
             std::vector<Segment>& out) const;

  std::vector<AddedToken> tokens_;
  Trie raw_, normalized_;
};

}  // namespace octavo::model
