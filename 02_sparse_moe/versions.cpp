#include "02_sparse_moe/versions.h"

namespace octavo::sparse_moe {

// A topic's versions go from the plain one to the best: the engine picks the last that fits.
void append_versions(Registry&) {}

}  // namespace octavo::sparse_moe
