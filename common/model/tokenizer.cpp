#include "common/model/tokenizer.h"

#include <algorithm>

#include "common/base/error.h"
#include "common/model/byte_level.h"
#include "common/model/file.h"
#include "common/model/utf8.h"

namespace octavo::model {
namespace {

constexpr std::size_t kMaxTokenizerBytes = 256 << 20;

}  // namespace

Tokenizer::Tokenizer(TokenizerParts parts, std::string_view origin)
    : ids_(std::move(parts.vocab)),
      bpe_(ids_, parts.merges, origin),
      pre_tokenizer_(std::move(parts.pre_tokenizer)) {
  if (parts.ignore_merges) {
    for (const auto& [token, id] : ids_) words_.emplace(from_byte_level(token), id);
  }
  int size = 0;
  for (const auto& [token, id] : ids_) size = std::max(size, id + 1);
  for (const AddedToken& token : parts.added) size = std::max(size, token.id + 1);
  bytes_.resize(static_cast<std::size_t>(size));
  special_.resize(static_cast<std::size_t>(size));
  for (const AddedToken& token : parts.added) {
    ids_.emplace(token.content, token.id);
    special_[static_cast<std::size_t>(token.id)] = token.special;
    require(!token.special || !bpe_.is_byte(token.id),
            "{}: the special token '{}' is the token of a byte", origin, token.content);
  }
  for (const auto& [token, id] : ids_)
    bytes_[static_cast<std::size_t>(id)] = from_byte_level(token);
  added_ = AddedTokens(std::move(parts.added));
}

Tokenizer Tokenizer::parse(std::string_view json, std::string_view origin) {
  return Tokenizer(parse_tokenizer_json(json, origin), origin);
}

Tokenizer Tokenizer::load(const std::filesystem::path& tokenizer_json) {
  return parse(read_text(tokenizer_json, kMaxTokenizerBytes), tokenizer_json.string());
}

std::vector<int> Tokenizer::encode(std::string_view text, Specials specials) const {
  if (const auto bad = first_invalid_utf8(text)) {
    fail("the text is not valid UTF-8: byte {} of {} is 0x{:02x}", *bad, text.size(),
         static_cast<unsigned char>(text[*bad]));
  }
  std::vector<int> ids;
  StepBudget budget(text.size());
  for (const Segment& segment : added_.split(text, specials)) {
    if (segment.id >= 0) {
      ids.push_back(segment.id);
    } else {
      encode_text(segment.text, specials, budget, ids);
    }
  }
  return ids;
}

void Tokenizer::encode_text(std::string_view text, Specials specials, StepBudget& budget,
                            std::vector<int>& ids) const {
  std::vector<std::string_view> pieces = {text}, next;
  for (const Pattern& pattern : pre_tokenizer_.splits) {
    next.clear();
    for (const std::string_view piece : pieces) pattern.split(piece, budget, next);
    pieces.swap(next);
  }
  for (const std::string_view piece : pieces) {
    std::string spaced;
    std::string_view whole = piece;
    if (pre_tokenizer_.add_prefix_space && piece.front() != ' ') {
      spaced = ' ' + std::string(piece);
      whole = spaced;
    }
    if (!pre_tokenizer_.after_space) {
      encode_word(whole, specials, ids);
      continue;
    }
    next.clear();
    pre_tokenizer_.after_space->split(whole, budget, next);
    for (const std::string_view word : next) encode_word(word, specials, ids);
  }
}

void Tokenizer::encode_word(std::string_view word, Specials specials, std::vector<int>& ids) const {
  static const std::vector<bool> kNone;
  const std::vector<bool>& avoid = specials == Specials::kAsText ? special_ : kNone;
  if (!words_.empty()) {
    const auto found = words_.find(std::string(word));
    if (found != words_.end()) {
      const auto id = static_cast<std::size_t>(found->second);
      if (id >= avoid.size() || !avoid[id]) {
        ids.push_back(found->second);
        return;
      }
    }
  }
  bpe_.encode(word, avoid, ids);
}

std::string Tokenizer::decode(std::span<const int> ids, bool show_specials) const {
  std::string bytes, text;
  for (const int id : ids) {
    if (show_specials || !is_special(id)) bytes += bytes_of(id);
  }
  take_utf8(bytes, true, text);
  return text;
}

std::optional<int> Tokenizer::id_of(std::string_view token) const {
  const auto found = ids_.find(std::string(token));
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::string_view Tokenizer::bytes_of(int id) const {
  return id >= 0 && id < vocab_size() ? std::string_view(bytes_[static_cast<std::size_t>(id)])
                                      : std::string_view();
}

bool Tokenizer::is_special(int id) const {
  return id >= 0 && id < vocab_size() && special_[static_cast<std::size_t>(id)];
}

std::string StreamDecoder::push(int id) {
  std::string text;
  if (show_specials_ || !tokenizer_->is_special(id)) pending_ += tokenizer_->bytes_of(id);
  take_utf8(pending_, false, text);
  return text;
}

std::string StreamDecoder::finish() {
  std::string text;
  take_utf8(pending_, true, text);
  return text;
}

}  // namespace octavo::model
