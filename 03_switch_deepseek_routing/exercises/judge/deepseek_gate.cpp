// The judge of the exercise "deepseek_gate": the contract of its topic.

#include "03_switch_deepseek_routing/exercises/exercises.h"
#include "03_switch_deepseek_routing/topics.h"
#include "common/testing/exercise.h"

int main() {
  using namespace octavo;
  return testing::run_exercise(OCTAVO_EXERCISE_FILE, [] {
    return testing::Exercise{
        .subjects = testing::subjects_of(switch_routing::grouped_top_k_topic(),
                                         switch_routing::on_simt::exercise_deepseek_gate())};
  });
}
