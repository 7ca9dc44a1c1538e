#pragma once
// SIMT_BACKEND: the namespace of the half that is being compiled. A .cu file is compiled once by
// nvcc and once by the host compiler, and both objects go into one program; what it defines with
// external linkage stands in this namespace:
//
//   softmax.h    namespace octavo::softmax::on_simt { void softmax_v1(const Args&); }
//                namespace octavo::softmax::on_cuda { void softmax_v1(const Args&); }
//   softmax.cu   namespace octavo::softmax::SIMT_BACKEND { void softmax_v1(const Args& args) { ...
//   } }
//
// The third name is that of kernels instrumented for a profile (common/simt/profile); to the linker
// they define on_simt's symbols, but the dialect's inline functions inside them differ, so those
// carry a namespace of their own.

#if defined(__CUDACC__)
#define SIMT_GPU 1
#define SIMT_BACKEND on_cuda
#define SIMT_FLAVOUR on_cuda
#elif defined(OCTAVO_SIMT_PROFILE)
#define SIMT_GPU 0
#define SIMT_BACKEND on_simt
#define SIMT_FLAVOUR on_simt_profiled
#else
#define SIMT_GPU 0
#define SIMT_BACKEND on_simt
#define SIMT_FLAVOUR on_simt
#endif

// Declares what a .cu defines in SIMT_BACKEND, once for each half.
#define SIMT_ON_BOTH_BACKENDS(...) \
  namespace on_simt {              \
  __VA_ARGS__                      \
  }                                \
  namespace on_cuda {              \
  __VA_ARGS__                      \
  }

// That half's octavo::Backend.
#if SIMT_GPU
#define SIMT_THIS_BACKEND ::octavo::Backend::kCuda
#else
#define SIMT_THIS_BACKEND ::octavo::Backend::kSimt
#endif
