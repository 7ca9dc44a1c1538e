// The input is JSON, a zero byte and a text. The JSON is a merge patch (RFC 7386) on a small
// tokenizer.json, so that few bytes reach far; what is no JSON is taken as a whole tokenizer.json.
// The text is encoded, and its bytes are decoded as if they were ids.
#include <algorithm>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/model/json.h"
#include "common/model/test_tiny_tokenizer.h"
#include "common/model/utf8.h"

namespace octavo::model {
namespace {

void check(bool holds) {
  if (!holds) __builtin_trap();
}

void check_encode(const Tokenizer& tokenizer, std::string_view text) {
  tokenizer.encode(text);
  for (const int id : tokenizer.encode(text, Specials::kAsText)) {
    check(!tokenizer.is_special(id));
    check(id >= 0 && id < tokenizer.vocab_size());
  }
}

void check_decode(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<int> ids;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int byte = static_cast<unsigned char>(text[i]);
    ids.push_back(i % 5 == 4 ? 200 + byte : byte);  // past the bytes too, and past the vocabulary
  }
  for (const bool show : {false, true}) {
    StreamDecoder decoder(tokenizer, show);
    std::string joined;
    for (const int id : ids) {
      const std::string piece = decoder.push(id);
      check(!first_invalid_utf8(piece));
      joined += piece;
    }
    check(joined + decoder.finish() == tokenizer.decode(ids, show));
  }
}

std::string patched(std::string_view patch) {
  nlohmann::json parsed;
  try {
    parsed = parse_json(patch, "patch");
  } catch (const Error&) {
    return std::string(patch);
  }
  static const nlohmann::json tiny = tiny_tokenizer_json();
  nlohmann::json file = tiny;
  file.merge_patch(parsed);
  return file.dump();
}

}  // namespace
}  // namespace octavo::model

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octavo::model;
  static const Tokenizer tiny = tiny_tokenizer();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = input.find('\0');
  const std::string_view text = zero == std::string_view::npos ? "" : input.substr(zero + 1, 300);
  check_decode(tiny, text);
  if (!first_invalid_utf8(text)) {
    check(tiny.decode(tiny.encode(text), true) == text);
    check(tiny.decode(tiny.encode(text, Specials::kAsText), true) == text);
  }
  try {
    const Tokenizer tokenizer = Tokenizer::parse(patched(input.substr(0, zero)), "tokenizer.json");
    check_decode(tokenizer, text);
    check_encode(tokenizer, text);
  } catch (const octavo::Error&) {
  }
  return 0;
}
