// H = act(X Wg^T + bg) * (X Wu^T + bu), Y = H Wd^T + bd; X [T, D], Wg, Wu [F, D], Wd [D, F].
//
// Idea: three products by matmul_gpu_v3_registers and, between them, a kernel that applies the
// activation to one element a thread. It is the base line of the other versions, and the one for
// many rows in fp32, where the products are at the FMA units' roof and the rest hardly shows.
//
// What limits it: the products; and gate and up, which are written and read again in fp32, 16 T F
// bytes that a fused version keeps in registers. x is read twice.
//
// Grids: those of the products; 256 threads for 256 elements of H. FLOPs: 6 T D F when gated, else
// 4 T D F. Bytes: those of the products; 4 T F a matrix read by the activation, T F elements of H
// written. Instantiations: fp32 and bf16.

#include "01_dense_ffn/ffn_params.h"
#include "01_dense_ffn/gpu_versions.h"
#include "01_dense_ffn/matmul_launchers.h"
#include "common/simt/launch.h"

namespace octavo::dense_ffn {
namespace {

using namespace simt;
using simt::bf16;

constexpr int kThreads = 256;

// A thread owns one element of H. gate (null when not gated) and up [T, F].
template <class E>
__global__ void __launch_bounds__(kThreads)
    activation_kernel(HiddenParams<E> a, const float* gate, const float* up) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= static_cast<std::size_t>(a.T) * a.F) return;
  const int f = static_cast<int>(i % a.F);
  a.hidden[i] = from_float<E>(hidden_value(a, f, a.gate != nullptr ? gate[i] : 0.0f, up[i]));
}

// X times gate or up, into sums [T, F].
MatmulArgs product(const FfnArgs& a, const TensorView& w, float* sums) {
  return {a.x, w, {sums, {a.rows(), a.weights.hidden()}}};
}

LaunchConfig activation_launch(const FfnArgs& a) {
  return {.kernel = "activation",
          .grid = {ceil_div(a.rows() * a.weights.hidden(), kThreads)},
          .block = {kThreads}};
}

std::vector<LaunchConfig> launches(const FfnArgs& a, const Device& device) {
  std::vector<LaunchConfig> all;
  const auto add = [&](const MatmulArgs& m) {
    for (const LaunchConfig& l : SIMT_BACKEND::matmul_registers_launches(m, device)) {
      all.push_back(l);
    }
  };
  if (a.rows() == 0) return all;
  if (a.weights.gated()) add(product(a, a.weights.gate, nullptr));
  add(product(a, a.weights.up, nullptr));
  all.push_back(activation_launch(a));
  add(down_product(a, nullptr));
  return all;
}

std::int64_t workspace(const FfnArgs& a, const Device&) {
  return (a.weights.gated() ? 2 : 1) * Workspace::bytes_for<float>(a.rows() * a.weights.hidden()) +
         hidden_bytes(a);
}

template <class E>
void run_as(Exec& exec, const FfnArgs& args) {
  const std::int64_t size = args.rows() * args.weights.hidden();
  const Workspace::Scope scope(exec.workspace);
  float* const gate = args.weights.gated() ? exec.workspace.take<float>(size).data() : nullptr;
  float* const up = exec.workspace.take<float>(size).data();
  const HiddenParams<E> a = hidden_params(args, exec.workspace.take<E>(size).data());
  if (a.T == 0) return;
  if (gate != nullptr) {
    SIMT_BACKEND::matmul_registers(exec, product(args, args.weights.gate, gate), {});
  }
  SIMT_BACKEND::matmul_registers(exec, product(args, args.weights.up, up), {});
  launch(activation_kernel<E>, activation_launch(args), exec.stream, a,
         static_cast<const float*>(gate), static_cast<const float*>(up));
  SIMT_BACKEND::matmul_registers(exec, down_product(args, a.hidden), args.weights.down_bias);
}

void run(Exec& exec, const FfnArgs& a, const Prepared&) {
  check_shapes(a);
  if (a.weights.up.dtype() == DType::kBF16) return run_as<bf16>(exec, a);
  run_as<float>(exec, a);
}

}  // namespace

namespace SIMT_BACKEND {

Version<FfnArgs> ffn_gpu_v1_unfused() {
  return {.name = "gpu_v1_unfused",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .workspace = workspace,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::dense_ffn
