#pragma once
// The one include of a kernel source. nvcc gets CUDA and a few wrappers around PTX (gpu.h); any
// C++20 compiler gets the same names as functions that run on the CPU (cpu/). README.md tells the
// story.

#include <cstddef>
#include <cstdint>

#include "common/simt/backend.h"

#if SIMT_GPU
#include "common/simt/gpu.h"
#else
#include "common/simt/cpu/async_copy.h"
#include "common/simt/cpu/atomics.h"
#include "common/simt/cpu/barriers.h"
#include "common/simt/cpu/intrinsics.h"
#include "common/simt/cpu/launch.h"
#include "common/simt/cpu/matrix_operations.h"
#include "common/simt/cpu/number_types.h"
#include "common/simt/cpu/thread_index.h"
#include "common/simt/cpu/vector_access.h"
#include "common/simt/cpu/warp_operations.h"
#endif

#include "common/simt/reductions.h"
