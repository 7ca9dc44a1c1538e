#pragma once
// The subcommands of the octavo program. Each adds its options to the app and runs from its
// callback.

#include <CLI/CLI.hpp>

namespace octavo::serve {

void add_generate(CLI::App& app);
void add_inspect(CLI::App& app);

}  // namespace octavo::serve
