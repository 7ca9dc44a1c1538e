#pragma once
// Conversations as text, by the chat template of tokenizer_config.json. Templates are Jinja
// programs; there is no engine for them here, so the shipped checkpoints' template is known by its
// exact text and every other one is refused.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/tokenizer.h"

namespace octavo::model {

struct ChatMessage {
  std::string role;     // "user" or "assistant"
  std::string content;  // UTF-8
};

class ChatTemplate {
 public:
  // Throws Error when the file has no chat_template or one whose text is not the known one.
  static ChatTemplate load(const std::filesystem::path& tokenizer_config_json);
  static ChatTemplate parse(std::string_view json, std::string_view origin);

  // What the template prints: "<|user|>" and the content for a user's message, "<|assistant|>", the
  // content and
  // "<|endoftext|>" for an assistant's, and with `add_generation_prompt` a last "<|assistant|>".
  // Throws Error for no message and for another role, which the template would drop without a word.
  // The result does not tell the template's control tokens from the same characters in a content:
  // encode is the safe way to a model.
  std::string render(std::span<const ChatMessage> messages, bool add_generation_prompt) const;

  // Token ids of the same, where only the template's own control tokens are control tokens:
  // contents are encoded with Specials::kAsText, so a message cannot speak for another role. Equal
  // to encode(render(...)) when no content holds the text of a special token. Throws Error as
  // render and Tokenizer::encode do, naming the message.
  std::vector<int> encode(const Tokenizer& tokenizer, std::span<const ChatMessage> messages,
                          bool add_generation_prompt) const;

 private:
  ChatTemplate() = default;
};

}  // namespace octavo::model
