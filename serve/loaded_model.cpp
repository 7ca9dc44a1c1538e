#include "serve/loaded_model.h"

#include <algorithm>
#include <utility>

#include "01_dense_ffn/versions.h"
#include "02_sparse_moe/versions.h"
#include "03_switch_deepseek_routing/versions.h"
#include "common/base/counted.h"
#include "common/base/error.h"
#include "common/model/file.h"
#include "common/model/json.h"

namespace octavo::serve {

namespace fs = std::filesystem;

// Far above any real one.
constexpr std::size_t kMaxConfigBytes = 1 << 20;

fs::path find_model(const std::string& name) {
  if (fs::is_directory(name)) return name;
  fs::path embedded = fs::path(OCTAVO_SOURCE_DIR) / "common/checkpoints" / name;
  const bool is_name = !name.empty() && name.find('/') == std::string::npos;
  if (is_name && fs::is_regular_file(embedded / "config.json")) return embedded;
  fail("no checkpoint folder '{}', and no embedded model of that name", name);
}

namespace {

// Settings of generation_config.json that would change what is written, and the value with which
// they do nothing; null does nothing for all.
struct Unsupported {
  const char* name;
  double neutral;
};
constexpr Unsupported kUnsupported[] = {
    {"repetition_penalty", 1}, {"presence_penalty", 0},
    {"frequency_penalty", 0},  {"min_p", 0},
    {"typical_p", 1},          {"epsilon_cutoff", 0},
    {"eta_cutoff", 0},         {"no_repeat_ngram_size", 0},
    {"min_length", 0},         {"min_new_tokens", 0},
    {"num_beams", 1},          {"penalty_alpha", 0},
    {"guidance_scale", 1},
};
// Of these no value but null does nothing.
constexpr const char* kUnsupportedLists[] = {"bad_words_ids",         "suppress_tokens",
                                             "begin_suppress_tokens", "sequence_bias",
                                             "forced_bos_token_id",   "forced_eos_token_id"};

std::vector<std::string> unsupported(const model::Fields& fields) {
  std::vector<std::string> notes;
  const auto note = [&](const char* name) {
    notes.push_back(fmt::format("{}: {} is {}, which is not supported and has no effect",
                                fields.origin(), name, fields.shown(name)));
  };
  for (const auto& [name, neutral] : kUnsupported) {
    if (fields.has(name) && fields.at(name) != neutral) note(name);
  }
  for (const char* name : kUnsupportedLists) {
    if (fields.has(name)) note(name);
  }
  return notes;
}

}  // namespace

GenerationDefaults load_generation_defaults(const fs::path& folder,
                                            const model::ModelConfig& config) {
  GenerationDefaults defaults{.stop_tokens = config.eos};
  const fs::path path = folder / "generation_config.json";
  if (!fs::exists(path)) return defaults;
  const nlohmann::json json =
      model::parse_json(model::read_text(path, kMaxConfigBytes), path.string());
  const model::Fields fields(json, path.string());
  defaults.notes = unsupported(fields);
  const bool greedy = fields.has("do_sample") && !fields.flag("do_sample");
  if (fields.has("temperature"))
    defaults.sampling.temperature = fields.number("temperature", 0, 1e6);
  if (greedy) defaults.sampling.temperature = 0;
  if (fields.has("top_k")) defaults.sampling.top_k = fields.whole("top_k", 0, config.vocab);
  if (fields.has("top_p")) defaults.sampling.top_p = fields.number("top_p", 1e-9, 1);
  if (fields.has("max_new_tokens")) {
    defaults.max_tokens =
        std::min(fields.whole("max_new_tokens", 1, std::int64_t{1} << 40), config.max_context);
  }
  if (fields.has("eos_token_id")) {
    const nlohmann::json& eos = fields.at("eos_token_id");
    const nlohmann::json list = eos.is_array() ? eos : nlohmann::json::array({eos});
    defaults.stop_tokens.clear();
    for (const nlohmann::json& id : list) {
      require(id.is_number_integer() && id >= 0 && id < config.vocab,
              "{}: eos_token_id holds {}, must be a token id from 0 to {}", path.string(),
              model::shown(id), config.vocab - 1);
      defaults.stop_tokens.push_back(id.get<int>());
    }
  }
  return defaults;
}

namespace {

// Kernels do not mix types as the host does.
std::optional<DType> compute_of(const EngineChoice& choice) {
  if (choice.device.backend == Backend::kCpu) return choice.compute;
  return choice.compute.value_or(DType::kF32);
}

std::shared_ptr<const Registry> versions_of(const EngineChoice& choice) {
  auto registry = std::make_shared<Registry>();
  dense_ffn::append_versions(*registry);
  sparse_moe::append_versions(*registry);
  switch_routing::append_versions(*registry);
  for (const std::string& assignment : choice.versions) registry->override_version(assignment);
  return registry;
}

}  // namespace

LoadedModel::LoadedModel(const fs::path& from, const EngineChoice& how)
    : choice(how),
      versions(versions_of(choice)),
      checkpoint(std::make_shared<model::Checkpoint>(model::Checkpoint::open(from))),
      tokenizer(model::Tokenizer::load(from / "tokenizer.json")),
      folder(from),
      defaults(load_generation_defaults(from, checkpoint->config())),
      decoder(checkpoint, VersionLinearFactory(versions, choice.device, compute_of(choice)),
              std::make_unique<ReferenceAttention>()) {
  // A vocabulary may be padded beyond the tokenizer's ids, never the other way round.
  require(tokenizer.vocab_size() <= checkpoint->config().vocab,
          "{}: the tokenizer has {}, the model a vocabulary of {}", from.string(),
          counted(tokenizer.vocab_size(), "id"), checkpoint->config().vocab);
}

std::vector<std::string> LoadedModel::notes() const {
  std::vector<std::string> notes = defaults.notes;
  const std::vector<std::string> unused = checkpoint->unused();
  if (!unused.empty()) {
    notes.push_back(fmt::format(
        "{}: the config has no use for {} of the {}, such as {}", folder.string(), unused.size(),
        counted(checkpoint->names().size(), "tensor"), model::shown(unused.front())));
  }
  for (const std::string& assignment : versions->unused_overrides()) {
    notes.push_back(fmt::format(
        "--version {}: no layer of this model runs a version of that topic; it has no effect",
        assignment));
  }
  return notes;
}

Exec LoadedModel::make_exec(ThreadPool& threads, std::int64_t rows) const {
  return {choice.device, compute_of(choice).value_or(DType::kF32), threads,
          decoder.workspace(rows)};
}

std::vector<int> encode_prompt(const LoadedModel& model, const std::string& text) {
  require(!text.empty(), "the prompt is empty");
  return model.tokenizer.encode(text);
}

std::vector<int> encode_chat(const LoadedModel& model, const std::string& user) {
  require(!user.empty(), "the chat message is empty");
  const auto chat = model::ChatTemplate::load(model.folder / "tokenizer_config.json");
  const model::ChatMessage message{.role = "user", .content = user};
  return chat.encode(model.tokenizer, {&message, 1}, true);
}

}  // namespace octavo::serve
