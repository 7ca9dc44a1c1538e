// ch02_profile [--lines]: what each GPU version of this chapter does to memory, on the executor.
// With --lines also every line of every kernel that touches memory.

#include "02_sparse_moe/topics.h"
#include "02_sparse_moe/versions.h"
#include "common/testing/profile_table.h"

namespace octavo::sparse_moe {
namespace {

constexpr std::int64_t kFewRows = 16;

void tables(bool lines) {
  Registry registry;
  append_versions(registry);
  testing::print_profile(registry, gating_topic(), {128, 64, 8}, kFewRows, lines);
  testing::print_profile(registry, align_topic(), {512, 8, 64}, kFewRows, lines);
  testing::print_profile(registry, experts_topic(), {128, 2, 4, 128, 64}, kFewRows, lines);
}

}  // namespace
}  // namespace octavo::sparse_moe

int main(int argc, char** argv) {
  return octavo::testing::profile_main(argc, argv, "ch02_profile", octavo::sparse_moe::tables);
}
