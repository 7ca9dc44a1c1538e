// Reading tokenizer.json: each part is either what the tokenizer computes or refused by name.

#include <unordered_set>

#include "common/base/error.h"
#include "common/model/json.h"
#include "common/model/tokenizer.h"

namespace octavo::model {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxId = (1 << 20) - 1;

// GPT-2's words: a contraction, letters, digits or others with the space before them, runs of white
// space whose last space is left to the word that follows.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

bool is_empty_text(const Fields& f, const char* name) {
  return f.object().at(name).is_string() &&
         f.object().at(name).get_ref<const std::string&>().empty();
}

void require_absent(const Fields& f, const char* name) {
  if (f.has(name)) fail("{}: {} is {}, only null is supported", f.origin(), name, f.shown(name));
}

Pattern read_split(const Fields& f) {
  f.choice("behavior", {"Isolated"});
  require(!f.flag("invert"), "{}: invert is true, only false is supported", f.origin());
  const Fields pattern = f.inner("pattern");
  if (pattern.has("String")) return Pattern::literal(pattern.text("String"), pattern.origin());
  return Pattern::regex(pattern.text("Regex"), pattern.origin());
}

void read_byte_level(const Fields& f, PreTokenizer& out) {
  out.add_prefix_space = f.flag("add_prefix_space");
  // Files older than the field mean true.
  if (!f.has("use_regex") || f.flag("use_regex")) {
    out.after_space = Pattern::regex(kByteLevelPattern, f.origin());
  }
}

PreTokenizer read_pre_tokenizer(const Fields& f) {
  PreTokenizer out;
  if (f.choice("type", {"ByteLevel", "Sequence"}) == 0) {
    read_byte_level(f, out);
    return out;
  }
  const json& steps = f.at("pretokenizers");
  require(steps.is_array() && !steps.empty() && steps.size() <= 16,
          "{}: pretokenizers must be a list of 1 to 16 steps", f.origin());
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const Fields step(steps[i], fmt::format("{}: step {}", f.origin(), i));
    step.choice("type", {"Split"});
    out.splits.push_back(read_split(step));
  }
  const Fields last(steps.back(), fmt::format("{}: step {}", f.origin(), steps.size() - 1));
  last.choice("type", {"ByteLevel"});
  read_byte_level(last, out);
  return out;
}

void read_vocab(const Fields& model, TokenizerParts& parts) {
  const Fields vocab = model.inner("vocab");
  std::vector<std::string_view> seen;
  for (const auto& [token, id] : vocab.object().items()) {
    require(
        id.is_number_unsigned() && id.get<std::uint64_t>() <= static_cast<std::uint64_t>(kMaxId),
        "{}: '{}' has the id {}, must be a whole number from 0 to {}", vocab.origin(), token,
        shown(id), kMaxId);
    const auto n = id.get<std::size_t>();
    if (n >= seen.size()) seen.resize(n + 1);
    require(seen[n].data() == nullptr, "{}: '{}' and '{}' have the same id {}", vocab.origin(),
            seen[n], token, n);
    seen[n] = parts.vocab.emplace(token, static_cast<int>(n)).first->first;
  }
}

// A merge is "left right" in older files, ["left", "right"] in newer ones.
void read_merges(const Fields& model, TokenizerParts& parts) {
  const json& merges = model.at("merges");
  require(merges.is_array(), "{}: merges must be a list", model.origin());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const json& merge = merges[i];
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      parts.merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
      continue;
    }
    const std::string text = merge.is_string() ? merge.get<std::string>() : "";
    const std::size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
      fail("{}: merge {} is {}, must be two tokens with a space between, or a list of two",
           model.origin(), i, shown(merge));
    }
    parts.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
  }
}

void read_model(const Fields& f, TokenizerParts& parts) {
  f.choice("type", {"BPE"});
  require_absent(f, "dropout");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (f.has(affix) && !is_empty_text(f, affix)) require_absent(f, affix);
  }
  require(!f.has("byte_fallback") || !f.flag("byte_fallback"),
          "{}: byte_fallback is true, only false is supported", f.origin());
  parts.ignore_merges = f.has("ignore_merges") && f.flag("ignore_merges");
  read_vocab(f, parts);
  read_merges(f, parts);
}

void read_added_tokens(const Fields& f, TokenizerParts& parts) {
  const json& list = f.at("added_tokens");
  require(list.is_array(), "{}: added_tokens must be a list", f.origin());
  std::unordered_map<int, std::string> taken;  // ids of the vocabulary and of earlier added tokens
  for (const auto& [token, id] : parts.vocab) taken.emplace(id, token);
  std::unordered_set<std::string> contents;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Fields entry(list[i], fmt::format("{}: added token {}", f.origin(), i));
    AddedToken token;
    token.id = static_cast<int>(entry.whole("id", 0, kMaxId));
    token.content = entry.text("content");
    token.lstrip = entry.flag("lstrip");
    token.rstrip = entry.flag("rstrip");
    token.normalized = entry.flag("normalized");
    token.special = entry.flag("special");
    require(!entry.flag("single_word"), "{}: single_word is true, only false is supported",
            entry.origin());
    require(!token.content.empty(), "{}: content is empty", entry.origin());
    require(contents.insert(token.content).second, "{}: '{}' stands twice", entry.origin(),
            token.content);
    const auto in_vocab = parts.vocab.find(token.content);
    if (in_vocab != parts.vocab.end()) {
      require(in_vocab->second == token.id, "{}: '{}' has the id {}, but {} in the model's vocab",
              entry.origin(), token.content, token.id, in_vocab->second);
    } else {
      const auto [other, is_new] = taken.emplace(token.id, token.content);
      require(is_new, "{}: '{}' has the id {}, which is that of '{}'", entry.origin(),
              token.content, token.id, other->second);
    }
    parts.added.push_back(std::move(token));
  }
}

}  // namespace

TokenizerParts parse_tokenizer_json(std::string_view text, std::string_view origin) {
  const json document = parse_json(text, origin);
  const Fields f(document, std::string(origin));
  for (const char* part : {"truncation", "padding", "normalizer"}) {
    // An object names its type, which says more than its beginning.
    if (f.has(part) && f.at(part).is_object() && f.inner(part).has("type")) {
      fail("{}: {} is of type {}, only null is supported", origin, part,
           f.inner(part).shown("type"));
    }
    require_absent(f, part);
  }
  if (f.has("post_processor")) f.inner("post_processor").choice("type", {"ByteLevel"});
  f.inner("decoder").choice("type", {"ByteLevel"});
  TokenizerParts parts;
  parts.pre_tokenizer = read_pre_tokenizer(f.inner("pre_tokenizer"));
  read_model(f.inner("model"), parts);
  read_added_tokens(f, parts);
  return parts;
}

}  // namespace octavo::model
