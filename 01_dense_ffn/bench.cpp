// The benchmark of chapter 01: ./run bench 01. One layer of Llama-3-8B's width in the shapes that
// the chapter talks about: one row and eight, bound by reading the weights; 256 and more, bound by
// multiply-adds. The weights of all operand sets together are 1 GiB or more.

#include "01_dense_ffn/topics.h"
#include "01_dense_ffn/versions.h"
#include "common/bench/suite.h"

int main(int argc, char** argv) {
  using namespace octavo;
  const auto registry = registry_of(dense_ffn::append_versions);
  bench::Suite suite("ch01");
  suite.add(dense_ffn::matmul_topic(), registry,
            {{.T = 1, .N = 14336, .K = 4096},
             {.T = 8, .N = 14336, .K = 4096},
             {.T = 256, .N = 4096, .K = 4096},
             {.T = 512, .N = 2816, .K = 2048}});
  suite.add(dense_ffn::ffn_topic(), registry,
            {{.T = 1, .D = 4096, .F = 14336}, {.T = 256, .D = 2048, .F = 2816}});
  return suite.main(argc, argv);
}
