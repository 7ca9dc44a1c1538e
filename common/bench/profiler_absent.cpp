// Of programs that do not link octavo::bench_profile.
#include "common/bench/profile_rows.h"

namespace octavo::bench {

ProfileCall linked_profiler() { return nullptr; }

}  // namespace octavo::bench
