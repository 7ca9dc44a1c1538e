#pragma once
// The planted mistakes, each run in a process of its own by mistakes_main.cpp.

#include <string>
#include <vector>

namespace octavo::simt::mistakes {

enum class Verdict { kSilent, kWrong };  // the output is as if there were no mistake; it is wrong

std::vector<std::string> names();

// Runs the kernel of this name. Throws KernelError when the executor refuses it, Error for an
// unknown name.
Verdict run(const std::string& name);

}  // namespace octavo::simt::mistakes
