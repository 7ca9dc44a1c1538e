#pragma once
// The subcommands of the octavo program. Each adds its options to the app and runs from its
// callback.

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>

#include "common/base/error.h"
#include "serve/loaded_model.h"

namespace octavo::serve {

// An option that takes one decimal number and nothing else. CLI11's own conversion would read 010
// as octal, clamp what is too large and take an empty value for none. Throws Error.
template <class T>
void add_number(CLI::App& app, const std::string& name, std::optional<T>& target,
                const std::string& help) {
  app.add_option_function<std::string>(
         name,
         [name, &target](const std::string& text) {
           T value{};
           const char* const end = text.data() + text.size();
           const auto [stop, status] = std::from_chars(text.data(), end, value);
           require(status == std::errc() && stop == end && !text.empty(),
                   "{} is '{}', must be a {}number{}", name.substr(2), text,
                   std::is_integral_v<T> ? "whole " : "",
                   status == std::errc::result_out_of_range ? " of a size that fits" : "");
           target = value;
         },
         help)
      ->type_name(std::is_integral_v<T> ? "INT" : "FLOAT");
}

// A line on stderr for each of the model's notes.
void print_notes(const LoadedModel& model);

// --device, --compute and --version.
void add_engine_choice(CLI::App& app, EngineChoice& choice);

void add_generate(CLI::App& app);
void add_inspect(CLI::App& app);

}  // namespace octavo::serve
