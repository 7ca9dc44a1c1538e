#pragma once
// CUDA_CHECK(call): throws Error with the failing expression, its place and the runtime's words,
// and clears the error, so that the next check reports its own call. Include it only where CUDA's
// headers are.

#include <cuda_runtime_api.h>

#include "common/base/error.h"

namespace octavo::cuda {

// Throws Error unless `status` is success. What poisoned the whole context (an illegal address in a
// kernel) comes back from every later call: only a new process cures it.
inline void check(cudaError_t status, const char* expression, const char* file, int line) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  fail("{}:{}: {} failed: {} ({})", file, line, expression, cudaGetErrorString(status),
       cudaGetErrorName(status));
}

}  // namespace octavo::cuda

#define CUDA_CHECK(call) ::octavo::cuda::check((call), #call, __FILE__, __LINE__)
