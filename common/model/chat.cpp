#include "common/model/chat.h"

#include "common/base/error.h"
#include "common/model/file.h"
#include "common/model/json.h"

namespace octavo::model {
namespace {

constexpr std::string_view kUser = "<|user|>", kAssistant = "<|assistant|>", kEnd = "<|endoftext|>";

constexpr std::string_view kTemplate =
    "{% for message in messages %}"
    "{% if message['role'] == 'user' %}{{ '<|user|>' + message['content'] }}"
    "{% elif message['role'] == 'assistant' %}{{ '<|assistant|>' + message['content'] + "
    "'<|endoftext|>' }}"
    "{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";

// Calls control(text) for the template's own text and content(i, text) for message i, in order.
template <class Control, class Content>
void walk(std::span<const ChatMessage> messages, bool add_generation_prompt, Control control,
          Content content) {
  require(!messages.empty(), "messages is empty, at least one is needed");
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    const bool user = message.role == "user";
    require(user || message.role == "assistant",
            "message {}: role is '{}', the chat template knows user and assistant", i,
            message.role);
    control(user ? kUser : kAssistant);
    content(i, message.content);
    if (!user) control(kEnd);
  }
  if (add_generation_prompt) control(kAssistant);
}

}  // namespace

ChatTemplate ChatTemplate::parse(std::string_view json, std::string_view origin) {
  const nlohmann::json document = parse_json(json, origin);
  const std::string text = Fields(document, std::string(origin)).text("chat_template");
  if (text != kTemplate) {
    fail(
        "{}: chat_template is {}, a template this program does not know; it runs no Jinja, and "
        "knows only the one of "
        "its own checkpoints",
        origin, shown(text));
  }
  return {};
}

ChatTemplate ChatTemplate::load(const std::filesystem::path& tokenizer_config_json) {
  return parse(read_text(tokenizer_config_json), tokenizer_config_json.string());
}

std::string ChatTemplate::render(std::span<const ChatMessage> messages,
                                 bool add_generation_prompt) const {
  std::string text;
  walk(
      messages, add_generation_prompt, [&](std::string_view control) { text += control; },
      [&](std::size_t, const std::string& content) { text += content; });
  return text;
}

std::vector<int> ChatTemplate::encode(const Tokenizer& tokenizer,
                                      std::span<const ChatMessage> messages,
                                      bool add_generation_prompt) const {
  std::vector<int> ids;
  const auto control = [&](std::string_view text) {
    const auto id = tokenizer.id_of(text);
    require(id && tokenizer.is_special(*id),
            "the tokenizer has no special token '{}', which the chat template uses", text);
    ids.push_back(*id);
  };
  const auto content = [&](std::size_t i, const std::string& text) {
    try {
      const std::vector<int> part = tokenizer.encode(text, Specials::kAsText);
      ids.insert(ids.end(), part.begin(), part.end());
    } catch (const Error& error) {
      fail("message {}: {}", i, error.what());
    }
  };
  walk(messages, add_generation_prompt, control, content);
  return ids;
}

}  // namespace octavo::model
