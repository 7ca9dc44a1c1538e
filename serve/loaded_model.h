#pragma once
// A checkpoint with everything that a program needs to talk to it.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "04_paged_kv/decoder.h"
#include "06_continuous_batching/sampler.h"
#include "common/model/chat.h"
#include "common/model/tokenizer.h"

namespace octavo::serve {

// The folder of a model that the user names: a path to a checkpoint folder, or the name of one that
// comes with the repository ("tiny-moe"). Throws Error when there is neither.
std::filesystem::path find_model(const std::string& name);

// What generation_config.json says; a field it lacks keeps the value here.
struct GenerationDefaults {
  std::optional<std::int64_t> max_tokens = {};  // max_new_tokens
  SamplingParams sampling = {};
  std::vector<int> stop_tokens = {};  // eos ids, those of config.json where there is no file
  // what the file asks for and the sampler here does not do, a sentence each
  std::vector<std::string> notes = {};
};

GenerationDefaults load_generation_defaults(const std::filesystem::path& folder,
                                            const model::ModelConfig& config);

// Where the matrices of a model are multiplied, and how.
struct EngineChoice {
  Device device = cpu_device();
  // what weights are kept in; empty: on the cpu as they are stored, elsewhere fp32
  std::optional<DType> compute = {};
  std::vector<std::string> versions = {};  // "topic=name", instead of the engine's own choice
};

struct LoadedModel {
  explicit LoadedModel(const std::filesystem::path& folder, const EngineChoice& choice = {});

  // An Exec for batches of up to `rows` rows. Borrows `threads`.
  Exec make_exec(ThreadPool& threads, std::int64_t rows) const;

  // What the user should know: settings, tensors and versions that have no effect here.
  std::vector<std::string> notes() const;

  EngineChoice choice;
  std::shared_ptr<const Registry> versions;  // all there are, those of `choice` put first

  std::shared_ptr<const model::Checkpoint> checkpoint;
  model::Tokenizer tokenizer;
  std::filesystem::path folder;
  GenerationDefaults defaults;
  Decoder decoder;
};

// The token ids of a prompt, and of one user message through the model's chat template. In a chat
// the text of a special token is text: a user cannot end their own turn. Throws Error for an empty
// text, and for one that is not UTF-8.
std::vector<int> encode_prompt(const LoadedModel& model, const std::string& text);
std::vector<int> encode_chat(const LoadedModel& model, const std::string& user);

}  // namespace octavo::serve
