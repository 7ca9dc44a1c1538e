#pragma once
// OCTAVO_HD: a function for both sides, host and kernels.

#if defined(__CUDACC__)
#define OCTAVO_HD __host__ __device__
#else
#define OCTAVO_HD
#endif
