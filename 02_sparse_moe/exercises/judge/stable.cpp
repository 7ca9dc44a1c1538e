// The judge of the exercise "stable": the contract of "align".

#include "02_sparse_moe/exercises/exercises.h"
#include "02_sparse_moe/topics.h"
#include "common/testing/exercise.h"

int main() {
  using namespace octavo;
  return testing::run_exercise(OCTAVO_EXERCISE_FILE, [] {
    return testing::Exercise{.subjects =
                                 testing::subjects_of(sparse_moe::align_topic(),
                                                      sparse_moe::on_simt::exercise_stable())};
  });
}
