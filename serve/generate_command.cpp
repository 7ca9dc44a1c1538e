// octavo generate: streams the continuation of a prompt to stdout, then one line of figures to
// stderr.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>

#include "06_continuous_batching/generate.h"
#include "common/base/counted.h"
#include "common/base/error.h"
#include "common/base/threads.h"
#include "serve/commands.h"
#include "serve/loaded_model.h"

namespace octavo::serve {
namespace {

struct Options {
  std::string model = "tiny-moe";
  std::string prompt, chat;
  bool is_chat = false;
  std::optional<std::int64_t> max_tokens, top_k;
  std::optional<double> temperature, top_p;
  std::optional<std::uint64_t> seed;
  std::optional<int> threads;
  EngineChoice engine;
};

double seconds_between(std::chrono::steady_clock::time_point a,
                       std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

// A request without a seed gets one, and the last line reports it: every run can be repeated.
std::uint64_t fresh_seed() { return std::random_device{}(); }

Request make_request(const Options& options, const LoadedModel& model) {
  Request request;
  request.prompt =
      options.is_chat ? encode_chat(model, options.chat) : encode_prompt(model, options.prompt);
  request.sampling = model.defaults.sampling;
  request.sampling.temperature = options.temperature.value_or(request.sampling.temperature);
  request.sampling.top_k = options.top_k.value_or(request.sampling.top_k);
  request.sampling.top_p = options.top_p.value_or(request.sampling.top_p);
  request.sampling.seed = options.seed ? *options.seed : fresh_seed();
  request.stop_tokens = model.defaults.stop_tokens;
  // Without a limit the model writes until it stops by itself or its context is full.
  const std::int64_t limit = model.defaults.max_tokens.value_or(model.decoder.config().max_context);
  request.max_tokens = options.max_tokens.value_or(limit);
  return request;
}

void print_figures(const Sequence& sequence, const Request& request, double prompt_seconds,
                   double output_seconds) {
  const std::int64_t output = sequence.num_output();
  // The first token comes out of the prompt's own forward, so the others share the rest of the
  // time.
  const auto rate = [](std::int64_t tokens, double seconds) {
    return tokens > 0 && seconds > 0
               ? fmt::format(" at {:.1f}/s", static_cast<double>(tokens) / seconds)
               : "";
  };
  const std::string line = fmt::format(
      "prompt {}{}, output {}{} ({}), {:.2f} s, seed {}\n", counted(sequence.num_prompt, "token"),
      rate(sequence.num_prompt, prompt_seconds), counted(output, "token"),
      rate(output - 1, output_seconds), sequence.finish == FinishReason::kStop ? "stop" : "length",
      prompt_seconds + output_seconds, request.sampling.seed);
  std::fputs(line.c_str(), stderr);
}

void run_generate(const Options& options) {
  ThreadPool threads(options.threads ? *options.threads : ThreadPool::default_size());
  const LoadedModel model(find_model(options.model), options.engine);
  const Request request = make_request(options, model);
  print_notes(model);
  const GenerateOptions loop;
  Exec exec = model.make_exec(
      threads, std::min<std::int64_t>(std::ssize(request.prompt), loop.token_budget));

  model::StreamDecoder decoder(model.tokenizer);
  const auto start = std::chrono::steady_clock::now();
  std::optional<std::chrono::steady_clock::time_point> first;
  const auto write = [](const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
        std::fflush(stdout) != 0) {
      throw std::runtime_error("cannot write to the standard output");
    }
  };
  const Sequence sequence = generate(
      model.decoder, exec, request,
      [&](int token) {
        if (!first) first = std::chrono::steady_clock::now();
        write(decoder.push(token));
        return true;
      },
      loop);
  const auto end = std::chrono::steady_clock::now();
  write(decoder.finish() + "\n");
  print_figures(sequence, request, seconds_between(start, first.value_or(end)),
                seconds_between(first.value_or(end), end));
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("generate", "Write text");
  command
      ->add_option("--model", options->model, "checkpoint folder, or the name of an embedded model")
      ->capture_default_str();
  CLI::Option* prompt = command->add_option("--prompt", options->prompt, "text to continue");
  CLI::Option* chat =
      command->add_option("--chat", options->chat, "message to answer, through the chat template");
  prompt->excludes(chat);
  add_number(*command, "--max-tokens", options->max_tokens,
             "most tokens to write (default: the model's, or its whole context)");
  add_number(*command, "--temperature", options->temperature, "0 is greedy (default: the model's)");
  add_number(*command, "--top-k", options->top_k,
             "sample from the k most likely tokens; 0 is all (default: the model's)");
  add_number(
      *command, "--top-p", options->top_p,
      "sample from the most likely tokens that hold this probability (default: the model's)");
  add_number(*command, "--seed", options->seed,
             "the same seed writes the same text (default: a fresh one)");
  add_number(*command, "--threads", options->threads,
             "default: OCTAVO_THREADS, or the number of physical cores");
  add_engine_choice(*command, options->engine);
  command->callback([options, prompt, chat] {
    require(prompt->count() + chat->count() == 1, "generate wants --prompt TEXT or --chat TEXT");
    options->is_chat = chat->count() == 1;
    run_generate(*options);
  });
}

}  // namespace octavo::serve
