#pragma once
// Files that a program writes whole.

#include <string>
#include <string_view>

namespace octavo {

// Puts `text` into the file at `path`: afterwards it holds all of it or, after an error or a kill
// at any moment, what it held before. The text is first written to path + ".new", in the same
// folder. What exists and is no regular file (a pipe, a terminal, /dev/stdout) is written directly.
// Throws Error when that fails.
void write_file(const std::string& path, std::string_view text);

}  // namespace octavo
