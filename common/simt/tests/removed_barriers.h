#pragma once
// The examples with one barrier removed: removed_barriers.cmake makes them,
// removed_barriers_main.cpp runs them.

#include "common/simt/examples/examples.h"

namespace octavo::simt::examples::removed {

namespace matmul_1 {
void matmul(const MatmulArgs& args, void* stream = nullptr);
}
namespace matmul_2 {
void matmul(const MatmulArgs& args, void* stream = nullptr);
}
namespace scan_1 {
void scan(const int* x, int* y, int rows, int cols, void* stream = nullptr);
}
namespace scan_2 {
void scan(const int* x, int* y, int rows, int cols, void* stream = nullptr);
}
namespace scan_3 {
void scan(const int* x, int* y, int rows, int cols, void* stream = nullptr);
}
namespace transpose_1 {
void transpose(Transpose version, const float* x, float* y, int rows, int cols,
               void* stream = nullptr);
}

}  // namespace octavo::simt::examples::removed
