// ch01_profile [--lines]: what each GPU version of this chapter does to memory, on the executor.
// With --lines also every line of every kernel that touches memory.

#include "01_dense_ffn/topics.h"
#include "01_dense_ffn/versions.h"
#include "common/testing/profile_table.h"

namespace octavo::dense_ffn {
namespace {

constexpr std::int64_t kFewRows = 16;

void tables(bool lines) {
  Registry registry;
  append_versions(registry);
  testing::print_profile(registry, matmul_topic(), {128, 128, 512}, kFewRows, lines);
  testing::print_profile(registry, ffn_topic(), {128, 512, 128}, kFewRows, lines);
}

}  // namespace
}  // namespace octavo::dense_ffn

int main(int argc, char** argv) {
  return octavo::testing::profile_main(argc, argv, "ch01_profile", octavo::dense_ffn::tables);
}
