// The judge of the exercise "deepseek_gate": the contract of its topic.

#include "03_switch_deepseek_routing/exercises/exercises.h"
#include "03_switch_deepseek_routing/topics.h"
#include "common/testing/exercise.h"

namespace octavo::switch_routing {
namespace {

testing::Exercise exercise() {
  return {.subjects =
              testing::subjects_of(grouped_top_k_topic(), on_simt::exercise_deepseek_gate())};
}

}  // namespace
}  // namespace octavo::switch_routing

int main() {
  return octavo::testing::run_exercise(OCTAVO_EXERCISE_FILE, octavo::switch_routing::exercise);
}
