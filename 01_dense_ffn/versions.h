#pragma once
// Everything this chapter can run: topics "matmul" (MatmulArgs), "ffn" (FfnArgs) and "cast"
// (CastArgs).

#include "common/device/registry.h"

namespace octavo::dense_ffn {

void append_versions(Registry& registry);

}  // namespace octavo::dense_ffn
