// simt_mistakes NAME: runs one planted mistake and prints DETECTED and the message, WRONG, or
// SILENT. Options come from the environment. A sanitizer's report goes to stderr and, where it ends
// the program, is all there is.

#include <cstdio>
#include <exception>

#include "common/simt/executor.h"
#include "common/simt/tests/mistakes.h"

int main(int argc, char** argv) {
  using namespace octavo::simt;
  if (argc != 2) {
    for (const std::string& name : mistakes::names()) std::puts(name.c_str());
    return argc == 1 ? 0 : 2;
  }
  try {
    std::puts(mistakes::run(argv[1]) == mistakes::Verdict::kWrong ? "WRONG" : "SILENT");
  } catch (const KernelError& e) {
    std::printf("DETECTED %s\n", e.what());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "simt_mistakes: %s\n", e.what());
    return 2;
  }
  return 0;
}
