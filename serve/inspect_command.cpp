// octavo inspect: what a model holds, costs and needs; and, for one that can run, which experts
// prompts use, as bars a prompt or as one heat map of all.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "06_continuous_batching/generate.h"
#include "common/base/counted.h"
#include "common/base/error.h"
#include "common/base/output_file.h"
#include "common/base/threads.h"
#include "serve/commands.h"
#include "serve/heat_map.h"
#include "serve/inspect_tables.h"
#include "serve/loaded_model.h"

namespace octavo::serve {
namespace {

struct Options {
  std::string target;
  std::vector<std::string> prompts, chats;
  std::optional<std::int64_t> context;
  std::optional<double> memory_gb;
  bool heat_map = false;
  std::string trace;  // file to write; empty: none
};

void print_sizes(const model::ModelConfig& config, const Options& options) {
  const std::int64_t context =
      options.context.value_or(std::min<std::int64_t>(4096, config.max_context));
  require(context >= 1 && context <= config.max_context,
          "--context is {}, must be from 1 to {} (the model's context)", context,
          config.max_context);
  require(!options.memory_gb || (*options.memory_gb > 0 && *options.memory_gb < 1e9),
          "--memory is {}, must be above 0 and below 1e9 (in GB)", options.memory_gb.value_or(0));
  const model::ModelSize size = model::size_of(config);
  std::optional<double> memory;
  if (options.memory_gb) memory = *options.memory_gb * 1e9;
  fmt::print("{}\n{}\n{}\n{}", shape_text(config), parameter_table(config, size),
             flops_table(config, context), memory_text(config, size, memory));
}

// What the files hold beside what the config says they should.
void print_stored(const model::Checkpoint& checkpoint) {
  const model::ModelConfig& config = checkpoint.config();
  std::int64_t elements = 0, tensors = 0, copies = 0;
  for (const std::string& name : checkpoint.names()) {
    elements += checkpoint.tensor(name).elements();
    ++tensors;
    const bool shared = name.ends_with(".embed_tokens.weight") || name.ends_with(".head.weight");
    if (shared && name.starts_with("model.layers.")) copies += checkpoint.tensor(name).elements();
  }
  const model::ModelSize size = model::size_of(config);
  fmt::print("stored    {} of {}; the config asks for {}", counted(tensors, "tensor"),
             counted(elements, "element"), size.parameters.total() + size.mtp);
  fmt::print("\n");
  if (copies > 0)
    fmt::print("          the MTP modules' copies of embedding and head add {}\n", copies);
}

class LoadCounter : public ForwardObserver {
 public:
  void routing(std::int64_t layer, const RoutingPlan& plan) override {
    layers.push_back(layer);
    counts.push_back(plan.counts());
    plans.push_back(plan);
  }
  std::vector<std::int64_t> layers;
  std::vector<std::vector<std::int64_t>> counts;
  std::vector<RoutingPlan> plans;
};

struct InspectedPrompt {
  std::string text;
  std::vector<int> tokens;
  bool is_chat = false;
};

// Encoded before anything is printed: a bad prompt gives its one line alone.
std::vector<InspectedPrompt> encode_all(const LoadedModel& model, const Options& options) {
  require(model.decoder.config().moe.has_value(), "{} has no experts", model.folder.string());
  std::vector<InspectedPrompt> prompts;
  for (const std::string& text : options.prompts) {
    prompts.push_back({text, encode_prompt(model, text), false});
  }
  for (const std::string& text : options.chats) {
    prompts.push_back({text, encode_chat(model, text), true});
  }
  for (const InspectedPrompt& prompt : prompts) {
    require(std::ssize(prompt.tokens) <= model.decoder.config().max_context,
            "a prompt has {}; the model's context is {}", counted(prompt.tokens.size(), "token"),
            model.decoder.config().max_context);
  }
  return prompts;
}

// The plan counts of a forward over the prompt.
LoadCounter count_experts(LoadedModel& model, Exec& exec, const InspectedPrompt& prompt) {
  const std::int64_t length = std::ssize(prompt.tokens);
  KvCache cache(model.decoder.kv_shape(), 1, length);
  const std::int32_t block = 0;
  const BatchPart part{.tokens = prompt.tokens, .first = 0, .blocks = {&block, 1}};
  LoadCounter load;
  model.decoder.observe(&load);
  model.decoder.forward(exec, make_batch({&part, 1}, length), cache);
  model.decoder.observe(nullptr);
  return load;
}

void print_expert_load(LoadedModel& model, Exec& exec, const InspectedPrompt& prompt) {
  const LoadCounter load = count_experts(model, exec, prompt);
  fmt::print("\nexperts of the {} of {}\"{}\"\n{}", counted(prompt.tokens.size(), "token"),
             prompt.is_chat ? "the chat " : "", prompt.text,
             expert_load_bars(load.layers, load.counts));
}

// The experts of each token, one layer after the other, for chapter 03's caches of experts.
void write_trace(LoadedModel& model, Exec& exec, const std::vector<InspectedPrompt>& prompts,
                 const std::string& path) {
  nlohmann::json uses = nlohmann::json::array();
  std::size_t layers = 0;
  std::int64_t experts = 0;
  for (const InspectedPrompt& prompt : prompts) {
    const LoadCounter load = count_experts(model, exec, prompt);
    layers = load.plans.size();
    for (std::int64_t t = 0; t < std::ssize(prompt.tokens); ++t) {
      for (const RoutingPlan& plan : load.plans) {
        experts = plan.experts;
        const int* const ids = plan.ids.data() + t * plan.top_k;
        uses.push_back(std::vector<int>(ids, ids + plan.top_k));
      }
    }
  }
  const nlohmann::json trace{{"layers", layers}, {"experts", experts}, {"uses", uses}};
  write_file(path, trace.dump() + '\n');
}

constexpr std::int64_t kAnswer = 100;  // tokens of a heat map's answers, at most

// Appends the model's greedy answer to each prompt.
void answer_all(LoadedModel& model, Exec& exec, std::vector<InspectedPrompt>& prompts) {
  for (InspectedPrompt& prompt : prompts) {
    const std::int64_t room = model.decoder.config().max_context - std::ssize(prompt.tokens);
    if (room <= 0) continue;
    const Request request{.prompt = prompt.tokens,
                          .sampling = {.temperature = 0},
                          .max_tokens = std::min(kAnswer, room),
                          .stop_tokens = model.defaults.stop_tokens};
    prompt.tokens = generate(model.decoder, exec, request, [](int) { return true; }).tokens;
  }
}

// The heat map of all prompts and answers.
void print_heat_map(LoadedModel& model, Exec& exec, const std::vector<InspectedPrompt>& prompts) {
  std::vector<std::int64_t> layers;
  std::vector<ExpertUse> uses;
  for (const InspectedPrompt& prompt : prompts) {
    const LoadCounter load = count_experts(model, exec, prompt);
    layers = load.layers;
    uses.push_back({prompt.text, load.counts});
  }
  fmt::print("\nexperts of prompts and greedy answers\n{}", expert_heat_map(layers, uses));
}

void inspect_folder(const std::filesystem::path& folder, const Options& options) {
  if (options.prompts.empty() && options.chats.empty()) {
    require(!options.heat_map && options.trace.empty(),
            "--heat-map and --trace want prompts: --prompt or --chat");
    const model::Checkpoint checkpoint = model::Checkpoint::open(folder);
    print_sizes(checkpoint.config(), options);
    print_stored(checkpoint);
    return;
  }
  LoadedModel model(folder);
  std::vector<InspectedPrompt> prompts = encode_all(model, options);
  const bool answers = options.heat_map || !options.trace.empty();
  ThreadPool threads(ThreadPool::default_size());
  std::int64_t rows = 0;
  for (const InspectedPrompt& prompt : prompts) rows = std::max(rows, std::ssize(prompt.tokens));
  if (answers) rows += kAnswer;
  Exec exec = model.make_exec(threads, rows);
  print_sizes(model.decoder.config(), options);
  print_notes(model);
  print_stored(*model.checkpoint);
  if (answers) answer_all(model, exec, prompts);
  if (!options.trace.empty()) write_trace(model, exec, prompts, options.trace);
  if (options.heat_map) return print_heat_map(model, exec, prompts);
  for (const InspectedPrompt& prompt : prompts) print_expert_load(model, exec, prompt);
}

void run_inspect(const Options& options) {
  if (!std::filesystem::is_regular_file(options.target)) {
    return inspect_folder(find_model(options.target), options);
  }
  require(options.prompts.empty() && options.chats.empty(),
          "{} is a config alone; the experts of a prompt need the weights", options.target);
  print_sizes(model::load_config(options.target), options);
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("inspect", "Sizes of a model, and the load of its experts");
  command
      ->add_option("target", options->target,
                   "checkpoint folder, config.json, or the name of an embedded model")
      ->required();
  command
      ->add_option("--prompt", options->prompts, "show the experts that this text uses; repeatable")
      ->allow_extra_args(false);
  command->add_option("--chat", options->chats, "the same for a message through the chat template")
      ->allow_extra_args(false);
  command->add_flag("--heat-map", options->heat_map,
                    "one picture of all prompts, each with the model's greedy answer");
  command->add_option("--trace", options->trace,
                      "write which experts each token of prompts and greedy answers uses, as JSON");
  add_number(*command, "--context", options->context,
             "positions for the FLOPs of attention (default: 4096 or the model's)");
  add_number(*command, "--memory", options->memory_gb,
             "memory in GB: how many tokens fit beside the weights");
  command->callback([options] { run_inspect(*options); });
}

}  // namespace octavo::serve
