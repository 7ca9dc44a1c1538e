// Kernels of conformance.h: matrix operations, copies, vector accesses and number types.

#include "common/simt/simt.h"
#include "common/simt/tests/conformance.h"

namespace octavo::simt::conformance {
namespace {

template <Number N>
struct TypeOf;
template <>
struct TypeOf<Number::kBf16> {
  using Type = bf16;
};
template <>
struct TypeOf<Number::kHalf> {
  using Type = half;
};
template <>
struct TypeOf<Number::kE4m3> {
  using Type = fp8_e4m3;
};
template <>
struct TypeOf<Number::kE5m2> {
  using Type = fp8_e5m2;
};

__global__ void mma_kernel(Number type, const std::uint32_t* a, const std::uint32_t* b,
                           const float* c, float* d) {
  const unsigned lane = threadIdx.x;
  std::uint32_t ra[4], rb[2];
  float rc[4], rd[4];
  for (unsigned i = 0; i < 4; ++i) {
    ra[i] = a[lane * 4 + i];
    rc[i] = c[lane * 4 + i];
    if (i < 2) rb[i] = b[lane * 2 + i];
  }
  if (type == Number::kBf16) {
    mma_m16n8k16_bf16(rd, ra, rb, rc);
  } else {
    mma_m16n8k16_f16(rd, ra, rb, rc);
  }
  for (unsigned i = 0; i < 4; ++i) d[lane * 4 + i] = rd[i];
}

template <int Count, bool Transposed>
__global__ void ldmatrix_kernel(const std::uint16_t* matrices, std::uint32_t* out) {
  SIMT_SHARED(std::uint16_t, s, [Count * 64]);
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < Count * 64; i += 32) s[i] = matrices[i];
  __syncthreads();
  std::uint32_t r[Count];
  const std::uint16_t* row = s + lane % (8 * Count) * 8;
  if constexpr (Count == 1) {
    Transposed ? ldmatrix_x1_trans(r, row) : ldmatrix_x1(r, row);
  } else if constexpr (Count == 2) {
    Transposed ? ldmatrix_x2_trans(r, row) : ldmatrix_x2(r, row);
  } else {
    Transposed ? ldmatrix_x4_trans(r, row) : ldmatrix_x4(r, row);
  }
  for (int i = 0; i < Count; ++i) out[lane * Count + i] = r[i];
}

__global__ void cp_async_kernel(const int* bytes, const unsigned char* in, unsigned char* out) {
  SIMT_SHARED(unsigned char, s, [512]);
  const unsigned lane = threadIdx.x;
  cp_async16(s + lane * 16, in + lane * 16, bytes[lane]);
  cp_async_commit();
  cp_async_wait<0>();
  __syncwarp();
  for (unsigned i = lane; i < 512; i += 32) out[i] = s[i];
}

__global__ void cp_async_groups_kernel(const unsigned char* in, unsigned char* out) {
  SIMT_SHARED(unsigned char, s, [3 * 512]);
  const unsigned lane = threadIdx.x;
  for (unsigned g = 0; g < 3; ++g) {
    cp_async16(s + g * 512 + lane * 16, in + g * 512 + lane * 16);
    cp_async_commit();
  }
  cp_async_wait<1>();
  __syncthreads();
  for (unsigned i = lane; i < 2 * 512; i += 32) out[i] = s[i];
  cp_async_wait<0>();
  __syncthreads();
  for (unsigned i = 2 * 512 + lane; i < 3 * 512; i += 32) out[i] = s[i];
}

template <int N, class T>
__global__ void pack_kernel(int n, const T* in, T* out) {
  const int i = static_cast<int>(threadIdx.x) * N;
  if (i < n) store_pack(out + i, load_pack<N>(in + i));
}

template <class T>
__global__ void convert_kernel(int n, const float* in, std::uint32_t* encoded, float* decoded) {
  for (int i = static_cast<int>(threadIdx.x); i < n; i += 32) {
    const T value = from_float<T>(in[i]);
    encoded[i] = 0;
    memcpy(&encoded[i], &value, sizeof(T));
    decoded[i] = to_float(value);
  }
}

template <class T>
__global__ void decode_kernel(int n, const std::uint32_t* in, float* out) {
  for (int i = static_cast<int>(threadIdx.x); i < n; i += 32) {
    T value;
    memcpy(static_cast<void*>(&value), &in[i], sizeof(T));
    out[i] = to_float(value);
  }
}

template <int N, class T>
void launch_packs(int bytes, const void* in, void* out) {
  launch(pack_kernel<N, T>, dim3(1), dim3(256), 0, nullptr, bytes / static_cast<int>(sizeof(T)),
         static_cast<const T*>(in), static_cast<T*>(out));
}

template <template <Number> class F, class... A>
void for_type(Number type, A... arguments) {
  if (type == Number::kBf16) F<Number::kBf16>::run(arguments...);
  if (type == Number::kHalf) F<Number::kHalf>::run(arguments...);
  if (type == Number::kE4m3) F<Number::kE4m3>::run(arguments...);
  if (type == Number::kE5m2) F<Number::kE5m2>::run(arguments...);
}
template <Number N>
struct Convert {
  static void run(int n, const float* in, std::uint32_t* encoded, float* decoded) {
    launch(convert_kernel<typename TypeOf<N>::Type>, dim3(1), dim3(32), 0, nullptr, n, in, encoded,
           decoded);
  }
};
template <Number N>
struct Decode {
  static void run(int n, const std::uint32_t* in, float* out) {
    launch(decode_kernel<typename TypeOf<N>::Type>, dim3(1), dim3(32), 0, nullptr, n, in, out);
  }
};

}  // namespace

namespace SIMT_BACKEND {

void mma(Number type, const std::uint32_t* a, const std::uint32_t* b, const float* c, float* d) {
  launch(mma_kernel, dim3(1), dim3(32), 0, nullptr, type, a, b, c, d);
}
void ldmatrix(int count, bool transposed, const std::uint16_t* matrices, std::uint32_t* out) {
  const auto kernel =
      count == 1   ? (transposed ? ldmatrix_kernel<1, true> : ldmatrix_kernel<1, false>)
      : count == 2 ? (transposed ? ldmatrix_kernel<2, true> : ldmatrix_kernel<2, false>)
                   : (transposed ? ldmatrix_kernel<4, true> : ldmatrix_kernel<4, false>);
  launch(kernel, dim3(1), dim3(32), 0, nullptr, matrices, out);
}
void cp_async(const int* bytes, const unsigned char* in, unsigned char* out) {
  launch(cp_async_kernel, dim3(1), dim3(32), 0, nullptr, bytes, in, out);
}
void cp_async_groups(const unsigned char* in, unsigned char* out) {
  launch(cp_async_groups_kernel, dim3(1), dim3(32), 0, nullptr, in, out);
}
void packs(int width, int element, int n, const void* in, void* out) {
  if (element == 4 && width == 4) launch_packs<1, float>(n, in, out);
  if (element == 4 && width == 8) launch_packs<2, float>(n, in, out);
  if (element == 4 && width == 16) launch_packs<4, float>(n, in, out);
  if (element == 2 && width == 4) launch_packs<2, bf16>(n, in, out);
  if (element == 2 && width == 8) launch_packs<4, bf16>(n, in, out);
  if (element == 2 && width == 16) launch_packs<8, bf16>(n, in, out);
}
void convert(Number type, int n, const float* in, std::uint32_t* encoded, float* decoded) {
  for_type<Convert>(type, n, in, encoded, decoded);
}
void decode(Number type, int n, const std::uint32_t* in, float* out) {
  for_type<Decode>(type, n, in, out);
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::simt::conformance
