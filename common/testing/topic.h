#pragma once
// Topic: what a chapter says about one operation, once, for its contract tests and for its
// benchmark.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/base/work.h"
#include "common/testing/compare.h"
#include "common/testing/operands.h"

namespace octavo::testing {

// Outputs by name, every element, in double.
using Values = std::map<std::string, std::vector<double>>;

template <class Shape, class Args>
struct Topic {
  std::string name;  // as in the registry
  // 1, odd, one below and one above a tile, a non-multiple, a real model's
  std::vector<Shape> shapes;
  // index of the smallest shape that crosses every branch: two tiles and a tail
  std::size_t smallest = 0;
  std::function<std::string(const Shape&)> describe;  // "T:3/D:64"

  // Makes the operands of a shape by name and returns the arguments that point at them.
  std::function<Args(const Shape&, Operands&)> make;
  // The oracle: reads Operands::values, returns every output by name.
  std::function<Values(const Shape&, const Operands&)> reference;
  std::function<Tolerance(const Shape&, DType)> tolerance;
  std::function<Work(const Shape&, DType)> work;

  // The batch: its number of rows, and the same shape with another number. Null: the operation has
  // no rows.
  std::function<std::int64_t(const Shape&)> rows;
  std::function<Shape(const Shape&, std::int64_t rows)> with_rows;

  // Inputs for which NaN and infinities are legal and must come out where the reference has them.
  std::vector<std::string> nonfinite_inputs;
};

// The Args of a shape without memory: no GPU is touched, even for a Device that is one.
template <class Shape, class Args>
Args args_of_shape(const Topic<Shape, Args>& topic, const Shape& shape, DType compute) {
  OperandSettings settings;
  settings.compute = compute;
  settings.shapes_only = true;
  Operands nothing(settings);
  return topic.make(shape, nothing);
}

}  // namespace octavo::testing
