#pragma once
// Topic "cast": rounds activations to the compute type of a matmul, to nearest, ties to even.

#include "common/base/view.h"
#include "common/device/exec.h"
#include "common/device/tensor.h"

namespace octavo {

struct CastArgs {
  View<const float, 1> x;  // [n]
  TensorView y;            // [n] in the compute type
};

// Throws Error when x and y have not as many elements, lie over each other, or y is not in bf16,
// the one type that a kernel wants x rounded to.
void check_shapes(const CastArgs& args);

}  // namespace octavo
