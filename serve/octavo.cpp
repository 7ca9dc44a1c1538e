// octavo: the program. One line on stderr and exit code 2 for bad input, 1 for a failure.

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "common/base/error.h"
#include "serve/commands.h"

namespace {

int run(int argc, char** argv) {
  CLI::App app{"Octavo: text from language models, and what it costs", "octavo"};
  app.require_subcommand(0, 1);
  octavo::serve::add_generate(app);
  octavo::serve::add_inspect(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "octavo: {}\n", error.what());
    return 2;
  }
  octavo::require(!app.get_subcommands().empty(), "a command is wanted: generate or inspect");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const octavo::Error& error) {
    fmt::print(stderr, "octavo: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "octavo: failed: {}\n", error.what());
    return 1;
  }
}
