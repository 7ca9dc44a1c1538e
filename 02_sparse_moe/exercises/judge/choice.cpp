// The judge of the exercise "choice": the contract of "gating".

#include "02_sparse_moe/exercises/exercises.h"
#include "02_sparse_moe/topics.h"
#include "common/testing/exercise.h"

namespace octavo::sparse_moe {
namespace {

testing::Exercise exercise() {
  return {.subjects = testing::subjects_of(gating_topic(), on_simt::exercise_choice())};
}

}  // namespace
}  // namespace octavo::sparse_moe

int main() {
  return octavo::testing::run_exercise(OCTAVO_EXERCISE_FILE, octavo::sparse_moe::exercise);
}
