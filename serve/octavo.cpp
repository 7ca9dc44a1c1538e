// octavo: the program. One line on stderr and exit code 2 for bad input, 1 for a failure.

#include <fmt/format.h>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "serve/commands.h"

namespace {

// One line on stderr, if there is a stderr. A name of the user's may hold anything, line ends and
// terminal commands included.
void complain(const std::string& message) {
  std::string line = "octavo: ";
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  line += '\n';
  std::fputs(line.c_str(), stderr);
}

// Weights are mapped: reading what another program cut off a file meanwhile is a signal, not an
// error code.
extern "C" void weights_are_gone(int) {
  constexpr std::string_view line = "octavo: failed: a weight file became shorter while in use\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
  _exit(1);
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
  std::signal(SIGBUS, weights_are_gone);
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
