#pragma once
// DeepSeek's gate by a version of topic "grouped_top_k".

#include <memory>
#include <vector>

#include "01_dense_ffn/linear.h"
#include "03_switch_deepseek_routing/deepseek_routing.h"

namespace octavo {

// By the versions that the factory takes, whose registry must have this chapter's topics for its
// device; where it takes none, the reference. `bias` as DeepseekRouter's.
std::unique_ptr<Router> make_deepseek_router(const LinearFactory& factory,
                                             const DeepseekRouting& routing,
                                             std::vector<float> bias = {});

}  // namespace octavo
