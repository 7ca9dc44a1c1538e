// The judge of the exercise "activation_tail", whose topic is this exercise's own.

#include <cmath>

#include "01_dense_ffn/exercises/exercises.h"
#include "common/testing/exercise.h"

namespace octavo::dense_ffn {
namespace {

struct Shape {
  std::int64_t n;
};

testing::Topic<Shape, SquaredReluArgs> squared_relu_topic() {
  testing::Topic<Shape, SquaredReluArgs> topic;
  topic.name = "squared_relu";
  topic.shapes = {{0}, {1}, {2}, {3}, {4}, {5}, {7}, {64}, {1023}, {1024}, {1027}, {4096}};
  topic.smallest = 10;  // two blocks and a tail
  topic.describe = [](const Shape& s) { return fmt::format("n:{}", s.n); };
  topic.make = [](const Shape& s, testing::Operands& o) {
    return SquaredReluArgs{o.input<float>("x", {s.n}), o.output<float>("y", {s.n})};
  };
  topic.reference = [](const Shape&, const testing::Operands& o) {
    std::vector<double> y = o.values("x");
    for (double& v : y) v = std::isnan(v) ? v : std::fmax(v, 0) * std::fmax(v, 0);
    return testing::Values{{"y", y}};
  };
  topic.tolerance = [](const Shape&, DType) { return testing::Tolerance{1e-6, 1e-6}; };
  topic.nonfinite_inputs = {"x"};
  return topic;
}

testing::Exercise exercise() {
  return {.subjects =
              testing::subjects_of(squared_relu_topic(), on_simt::exercise_activation_tail())};
}

}  // namespace
}  // namespace octavo::dense_ffn

int main() {
  return octavo::testing::run_exercise(OCTAVO_EXERCISE_FILE, octavo::dense_ffn::exercise);
}
