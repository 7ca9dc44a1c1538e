#include "02_sparse_moe/versions.h"

#include "02_sparse_moe/cpu_versions.h"

namespace octavo::sparse_moe {

// A topic's versions go from the plain one to the best: the engine picks the last that fits.
void append_versions(Registry& registry) {
  registry.add("gating", gating_cpu_v1_select());
  registry.add("align", align_cpu_v1_count());
  registry.add("experts", experts_cpu_v1_grouped());
}

}  // namespace octavo::sparse_moe
