// octavo: the program. One line on stderr and exit code 2 for bad input, 1 for a failure.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>

#include "common/base/error.h"
#include "serve/commands.h"

namespace {

// One line on stderr, if there is a stderr.
void complain(const std::string& message) {
  const std::string line = "octavo: " + message + "\n";
  std::fputs(line.c_str(), stderr);
}

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
    complain(error.what());
    return 2;
  }
  octavo::require(!app.get_subcommands().empty(), "a command is wanted: generate or inspect");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
      throw std::runtime_error("cannot write to the standard output");
    }
    return code;
  } catch (const octavo::Error& error) {
    complain(error.what());
    return 2;
  } catch (const std::filesystem::filesystem_error& error) {  // a path that cannot be looked at
    complain(error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    complain("failed: not enough memory");
    return 1;
  } catch (const std::exception& error) {
    complain(fmt::format("failed: {}", error.what()));
    return 1;
  }
}
