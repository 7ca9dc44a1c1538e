#pragma once
// A fake model and its tokenizer, for tests of control flow: files of the smallest Llama shape that
// loads, which say a text byte by byte, whatever was said before.

#include <filesystem>
#include <string>
#include <string_view>

namespace octavo::testing {

struct ScriptedModel {
  std::string_view text;  // at most 255 bytes, no two alike; token i stands for byte i
  std::int64_t context = 32;

  int end() const { return static_cast<int>(text.size()); }  // the id of <|end|>, a special token
};

// Writes config.json, model.safetensors and tokenizer.json into a folder that exists. The likeliest
// token after token i is i + 1, after <|end|> 0; all others are equally likely. Bytes that the text
// lacks have tokens above <|end|>, after which nothing is likely. Throws Error when two bytes of
// the text are alike.
void write_scripted_model(const std::filesystem::path& folder, const ScriptedModel& model);

}  // namespace octavo::testing
