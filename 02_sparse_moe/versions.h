#pragma once
// Everything this chapter can run: topics "gating" (GatingArgs), "align" (AlignArgs) and "experts"
// (ExpertsArgs).

#include "common/device/registry.h"

namespace octavo::sparse_moe {

void append_versions(Registry& registry);

}  // namespace octavo::sparse_moe
