// The benchmark of chapter 03: ./run bench 03. The gates of DeepSeek-V3 and V2 for a batch of
// decodes and for a prompt, and places under a capacity for a training batch of GShard's kind.

#include "03_switch_deepseek_routing/topics.h"
#include "03_switch_deepseek_routing/versions.h"
#include "common/bench/suite.h"

int main(int argc, char** argv) {
  using namespace octavo;
  using namespace octavo::switch_routing;
  const auto registry = registry_of(append_versions);
  bench::Suite suite("ch03");
  suite.add(grouped_top_k_topic(), registry,
            {deepseek_v3_gate(64), deepseek_v3_gate(4096), deepseek_v2_gate(4096)});
  suite.add(capacity_dispatch_topic(), registry,
            {{.T = 1024, .E = 64, .k = 2, .C = 40}, {.T = 65536, .E = 64, .k = 2, .C = 2560}});
  return suite.main(argc, argv);
}
