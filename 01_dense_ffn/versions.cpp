#include "01_dense_ffn/versions.h"

#include "01_dense_ffn/cpu_versions.h"
#include "01_dense_ffn/gpu_versions.h"

namespace octavo::dense_ffn {

// A topic's versions go from the plain one to the best: the engine picks the last that fits.
void append_versions(Registry& registry) {
  registry.add("matmul", matmul_cpu_v1_eigen());
  registry.add("matmul", matmul_cpu_v2_packed());
  registry.add("ffn", ffn_cpu_v1_packed());
  registry.add("matmul", on_simt::matmul_gpu_v1_naive());
  registry.add("matmul", on_simt::matmul_gpu_v2_tiled());
  registry.add("matmul", on_simt::matmul_gpu_v3_registers());
  registry.add("matmul", on_simt::matmul_gpu_v4_mma());
  registry.add("matmul", on_simt::matmul_gpu_v5_decode());
  registry.add("ffn", on_simt::ffn_gpu_v1_unfused());
  registry.add("ffn", on_simt::ffn_gpu_v2_mma());
  registry.add("ffn", on_simt::ffn_gpu_v3_decode());
  registry.add("cast", on_simt::cast_gpu_v1_vector());
#ifdef OCTAVO_CUDA
  registry.add("matmul", on_cuda::matmul_gpu_v1_naive());
  registry.add("matmul", on_cuda::matmul_gpu_v2_tiled());
  registry.add("matmul", on_cuda::matmul_gpu_v3_registers());
  registry.add("matmul", on_cuda::matmul_gpu_v4_mma());
  registry.add("matmul", on_cuda::matmul_gpu_v5_decode());
  registry.add("ffn", on_cuda::ffn_gpu_v1_unfused());
  registry.add("ffn", on_cuda::ffn_gpu_v2_mma());
  registry.add("ffn", on_cuda::ffn_gpu_v3_decode());
  registry.add("cast", on_cuda::cast_gpu_v1_vector());
#endif
}

}  // namespace octavo::dense_ffn
