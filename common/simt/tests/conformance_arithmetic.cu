// Kernels of conformance.h: arithmetic and bit intrinsics.

#include "common/simt/simt.h"
#include "common/simt/tests/conformance.h"

namespace octavo::simt::conformance {
namespace {

__global__ void bits_kernel(Bits kind, int n, const std::uint32_t* a, const std::uint32_t* b,
                            std::uint32_t* out) {
  for (int i = static_cast<int>(threadIdx.x); i < n; i += 32) {
    const int ia = static_cast<int>(a[i]), ib = static_cast<int>(b[i]);
    int r = 0;
    if (kind == Bits::kPopc) r = __popc(a[i]);
    if (kind == Bits::kFfs) r = __ffs(ia);
    if (kind == Bits::kClz) r = __clz(ia);
    if (kind == Bits::kBrev) r = static_cast<int>(__brev(a[i]));
    if (kind == Bits::kFloatToInt) r = __float2int_rn(__uint_as_float(a[i]));
    if (kind == Bits::kDp4a) r = __dp4a(ia, ib, 5);
    if (kind == Bits::kMin) r = min(ia, ib);
    if (kind == Bits::kMax) r = max(ia, ib);
    if (kind == Bits::kMinUnsigned) r = static_cast<int>(min(a[i], b[i]));
    if (kind == Bits::kMaxUnsigned) r = static_cast<int>(max(a[i], b[i]));
    out[i] = static_cast<std::uint32_t>(r);
  }
}

__global__ void wide_kernel(Wide kind, int n, const long long* a, const long long* b,
                            long long* out) {
  for (int i = static_cast<int>(threadIdx.x); i < n; i += 32) {
    if (kind == Wide::kPopc) out[i] = __popcll(static_cast<unsigned long long>(a[i]));
    if (kind == Wide::kMin) out[i] = min(a[i], b[i]);
    if (kind == Wide::kMax) out[i] = max(a[i], b[i]);
  }
}

__global__ void exact_kernel(Exact kind, int n, const float* a, const float* b, const float* c,
                             float* out) {
  for (int i = static_cast<int>(threadIdx.x); i < n; i += 32) {
    if (kind == Exact::kFma) out[i] = __fmaf_rn(a[i], b[i], c[i]);
    if (kind == Exact::kAdd) out[i] = __fadd_rn(a[i], b[i]);
    if (kind == Exact::kMul) out[i] = __fmul_rn(a[i], b[i]);
    if (kind == Exact::kReciprocal) out[i] = __frcp_rn(a[i]);
    if (kind == Exact::kMin) out[i] = min(a[i], b[i]);
    if (kind == Exact::kMax) out[i] = max(a[i], b[i]);
  }
}

__global__ void approximate_kernel(Approximate kind, int n, const float* a, const float* b,
                                   float* out) {
  for (int i = static_cast<int>(threadIdx.x); i < n; i += 32) {
    if (kind == Approximate::kRsqrt) out[i] = rsqrtf(a[i]);
    if (kind == Approximate::kExp) out[i] = __expf(a[i]);
    if (kind == Approximate::kLog) out[i] = __logf(a[i]);
    if (kind == Approximate::kLog2) out[i] = __log2f(a[i]);
    if (kind == Approximate::kSin) out[i] = __sinf(a[i]);
    if (kind == Approximate::kCos) out[i] = __cosf(a[i]);
    if (kind == Approximate::kDivide) out[i] = __fdividef(a[i], b[i]);
  }
}

}  // namespace

namespace SIMT_BACKEND {

void bits(Bits kind, int n, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out) {
  launch(bits_kernel, dim3(1), dim3(32), 0, nullptr, kind, n, a, b, out);
}
void wide(Wide kind, int n, const long long* a, const long long* b, long long* out) {
  launch(wide_kernel, dim3(1), dim3(32), 0, nullptr, kind, n, a, b, out);
}
void exact(Exact kind, int n, const float* a, const float* b, const float* c, float* out) {
  launch(exact_kernel, dim3(1), dim3(32), 0, nullptr, kind, n, a, b, c, out);
}
void approximate(Approximate kind, int n, const float* a, const float* b, float* out) {
  launch(approximate_kernel, dim3(1), dim3(32), 0, nullptr, kind, n, a, b, out);
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::simt::conformance
