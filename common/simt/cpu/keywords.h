#pragma once
// CUDA's keywords for a host compiler, and which sanitizer this file is compiled for.

#if defined(__SANITIZE_THREAD__)
#define SIMT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIMT_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#endif

// For the executor's own code inside a kernel: the thread sanitizer, and the profile, do not see
// it.
#if defined(__clang__)
#define SIMT_UNSEEN __attribute__((no_sanitize("thread")))
#define SIMT_UNROLL _Pragma("unroll")
#else
#define SIMT_UNSEEN __attribute__((no_sanitize_thread))
#define SIMT_UNROLL _Pragma("GCC unroll 16")
#endif

// CUDA's headers define most of these as nothing when the host compiler reads them.
#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __grid_constant__
#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))

// A C++ variable cannot be one for each block, so the keyword is refused, with the way to write it.
#define __shared__                                                      \
  static_assert(false,                                                  \
                "write SIMT_SHARED(type, name, [extents]); instead of " \
                "__shared__ type name[extents];");

// A block's static shared array: SIMT_SHARED(float, tile, [32][33]); The key's address tells one
// array from another: it is unique for each function and each template instantiation, as the array
// is on a GPU.
#define SIMT_SHARED(T, name, ...)           \
  static const char simt_key_of_##name = 0; \
  auto& name = *::octavo::simt::cpu::shared_array<T __VA_ARGS__>(&simt_key_of_##name)
