// Prints what this machine can do: ceilings [SAMPLES].

#include <nlohmann/json.hpp>

#include <charconv>
#include <cstring>
#include <iostream>

#include "common/base/error.h"
#include "common/bench/context.h"

int main(int argc, char** argv) {
  int samples = 10;
  if (argc > 1) {
    const char* const end = argv[1] + std::strlen(argv[1]);
    if (argc > 2 || std::from_chars(argv[1], end, samples).ptr != end || samples < 1 ||
        samples > 1000) {
      std::cerr << "usage: ceilings [SAMPLES], a whole number from 1 to 1000\n";
      return 2;
    }
  }
  try {
    octavo::ThreadPool pool(octavo::ThreadPool::default_size());
    octavo::bench::CeilingProbe probe(pool);
    for (int i = 0; i < samples; ++i) probe.sample();
    std::cout << octavo::bench::context(probe.best()).dump(1) << '\n';
  } catch (const octavo::Error& e) {
    std::cerr << "ceilings: " << e.what() << '\n';
    return 2;
  }
}
