// One deliberate mistake a kernel. test_mistakes.cpp says what each build and schedule must make of
// it. Where the mistake is a wrong result, `check` tells what the right one would be.

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

#include "common/simt/simt.h"
#include "common/simt/tests/mistakes.h"

namespace octavo::simt::mistakes {
namespace {

// ---- out of bounds
__global__ void oob_dynamic(float* o, int n) {
  float* s = dynamic_shared<float>();
  s[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) o[0] = s[n];
}
__global__ void oob_static(float* o, int n) {
  SIMT_SHARED(float, s, [32]);
  s[threadIdx.x] = 1;
  __syncthreads();
  float* p = s;
  if (threadIdx.x == 0) o[0] = p[n];
}
__global__ void oob_static_index(float* o, int n) {
  SIMT_SHARED(float, s, [32]);
  s[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) o[0] = s[n];
}
__global__ void oob_global(float* o, int n) {
  if (threadIdx.x == 0) o[0] = o[n];
}
__global__ void oob_local(float* o, int n) {
  float a[8];
  for (int i = 0; i < 8; ++i) a[i] = o[i];
  float* volatile p = a;  // a compiler that knew its target would speak before the sanitizer
  o[threadIdx.x] = p[n];
}
__global__ void oob_cp_async(float* o, const float* x) {
  SIMT_SHARED(float, s, [4]);
  if (threadIdx.x == 0) cp_async16(s, x + 256);
  cp_async_commit();
  cp_async_wait<0>();
  if (threadIdx.x == 0) o[0] = s[0];
}

// ---- barriers
__global__ void exit_early(float* o) {
  if (threadIdx.x >= 16) return;
  __syncthreads();
  o[threadIdx.x] = 1;
}
__global__ void two_barriers(float* o) {
  if (threadIdx.x < 32) {
    o[0] = 1;
    __syncthreads();
  } else {
    __syncthreads();
  }
}
__global__ void extra_barrier(float* o) {
  for (int i = 0; i < (threadIdx.x < 32 ? 3 : 2); ++i) __syncthreads();
  o[threadIdx.x] = 1;
}
__global__ void named_count(float* o) {
  named_barrier_sync(1, threadIdx.x < 32 ? 64 : 32);
  o[threadIdx.x] = 1;
}
__global__ void named_alone(float* o) {
  if (threadIdx.x < 32) named_barrier_sync(1, 64);
  o[threadIdx.x] = 1;
}

// ---- warp operations
__global__ void shuffle_divergent(float* o) {
  float v = static_cast<float>(threadIdx.x);
  if (threadIdx.x & 1) v = __shfl_xor_sync(0xffffffffu, v, 2);
  o[threadIdx.x] = v;
}
__global__ void shuffle_two_sites(float* o) {
  float v = static_cast<float>(threadIdx.x);
  if (threadIdx.x & 1) {
    v = __shfl_xor_sync(0xffffffffu, v, 2);
  } else {
    v = __shfl_xor_sync(0xffffffffu, v, 4);
  }
  o[threadIdx.x] = v;
}
__global__ void shuffle_not_in_mask(float* o) {
  float v = 1;
  if (threadIdx.x < 16) v = __shfl_xor_sync(0xffff0000u, v, 1);
  o[threadIdx.x] = v;
}
__global__ void shuffle_bad_source(float* o) {
  float v = 1;
  if (threadIdx.x < 16) v = __shfl_sync(0x0000ffffu, v, 20);
  o[threadIdx.x] = v;
}
__global__ void shuffle_width(float* o) { o[threadIdx.x] = __shfl_sync(0xffffffffu, 1.f, 0, 12); }

// ---- races
__global__ void no_barrier_right(float* o) {
  SIMT_SHARED(float, s, [128]);
  s[threadIdx.x] = static_cast<float>(threadIdx.x);
  o[threadIdx.x] = s[(threadIdx.x + 1) & 127];
}
__global__ void no_barrier_left(float* o) {
  SIMT_SHARED(float, s, [128]);
  s[threadIdx.x] = static_cast<float>(threadIdx.x);
  o[threadIdx.x] = s[threadIdx.x ? threadIdx.x - 1 : 0];
}
__global__ void no_barrier_before_rewrite(float* o) {
  SIMT_SHARED(float, s, [128]);
  float v = static_cast<float>(threadIdx.x);
  for (int i = 0; i < 4; ++i) {
    s[threadIdx.x] = v;
    __syncthreads();
    v = s[(threadIdx.x + 1) & 127];
  }
  o[threadIdx.x] = v;
}
__global__ void no_syncwarp(float* o) {
  SIMT_SHARED(float, s, [32]);
  s[threadIdx.x] = static_cast<float>(threadIdx.x);
  o[threadIdx.x] = s[31 - threadIdx.x];
}
// Relies on a shuffle to order memory: right in every schedule here, and a race by CUDA's rules.
__global__ void shuffle_as_fence(float* o) {
  SIMT_SHARED(float, s, [32]);
  s[threadIdx.x] = static_cast<float>(threadIdx.x);
  const float v = __shfl_xor_sync(0xffffffffu, 1.f, 1);
  o[threadIdx.x] = s[31 - threadIdx.x] * v;
}
__global__ void race_in_block(float* o) { o[0] += 1; }
__global__ void race_between_blocks(float* o) {
  if (threadIdx.x == 0) o[0] += 1;
}
// The last block to arrive adds up what the others wrote, without __threadfence in between.
__global__ void no_threadfence(float* o, int* arrived) {
  if (threadIdx.x != 0) return;
  o[1 + blockIdx.x] = 1;
  if (atomicAdd(arrived, 1) != 63) return;
  for (int i = 1; i <= 64; ++i) o[0] += o[i];
}
__global__ void threadfence_right(float* o, int* arrived) {
  if (threadIdx.x != 0) return;
  o[1 + blockIdx.x] = 1;
  __threadfence();
  if (atomicAdd(arrived, 1) != 63) return;
  for (int i = 1; i <= 64; ++i) o[0] += o[i];
}
__global__ void spin_right(float* o, int* flag) {
  if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0) {
    }
    o[0] = 1;
  } else if (threadIdx.x == 40) {
    __threadfence();
    atomicExch(flag, 1);
  }
}

// ---- memory that was not written
__global__ void unwritten(float* o) {
  SIMT_SHARED(float, s, [32]);
  if (threadIdx.x < 31) s[threadIdx.x] = 1;
  __syncthreads();
  o[threadIdx.x] = s[threadIdx.x];
}

// ---- asynchronous copies
__global__ void async_no_wait(float* o, const float* x) {
  SIMT_SHARED(float, s, [128]);
  cp_async16(&s[threadIdx.x * 4], x + threadIdx.x * 4);
  cp_async_commit();
  __syncthreads();
  for (int i = 0; i < 4; ++i) o[threadIdx.x * 4 + i] = s[threadIdx.x * 4 + i];
  cp_async_wait<0>();
}
__global__ void async_wait_after_barrier(float* o, const float* x) {
  SIMT_SHARED(float, s, [128]);
  cp_async16(&s[threadIdx.x * 4], x + threadIdx.x * 4);
  cp_async_commit();
  __syncthreads();
  cp_async_wait<0>();
  for (int i = 0; i < 4; ++i) {
    const unsigned j = 127 - (threadIdx.x * 4 + i);
    o[j] = s[j];
  }
}
__global__ void async_leak(float* o, const float* x) {
  SIMT_SHARED(float, s, [128]);
  cp_async16(&s[threadIdx.x * 4], x + threadIdx.x * 4);
  cp_async_commit();
  o[threadIdx.x] = 0;
}
__global__ void async_to_global(float* o, const float* x) {
  cp_async16(o + threadIdx.x * 4, x + threadIdx.x * 4);
  cp_async_commit();
  cp_async_wait<0>();
}

// ---- the rest
__global__ void misaligned(float* o, const float* x) {
  const float4* p = reinterpret_cast<const float4*>(x + 1);
  o[threadIdx.x] = p[threadIdx.x].y;
}
__global__ void misaligned_load16(float* o, const float* x) { o[threadIdx.x] = load16(x + 1)[0]; }
__global__ void int_overflow(float* o, int n) {
  int v = n;
  v = v * static_cast<int>(threadIdx.x + 2);
  o[threadIdx.x] = static_cast<float>(v);
}
__global__ void stack_overflow(float* o, int n) {
  volatile float a[100000];
  for (int i = 0; i < 100000; i += 512) a[i] = 1;
  o[threadIdx.x] = a[n];
}
__global__ void throws(float*) { throw std::runtime_error("boom"); }

// ---- how each is launched
struct Case {
  const char* name;
  std::function<void()> run;
  // the first elements of the output of a correct kernel; empty: no such thing
  std::vector<float> want;
};

struct alignas(16) Buffers {
  float out[256] = {};
  float in[256];
  int flag = 0;
};

std::vector<float> sequence(int n, const std::function<int(int)>& f) {
  std::vector<float> v;
  for (int i = 0; i < n; ++i) v.push_back(static_cast<float>(f(i)));
  return v;
}

std::vector<Case> cases(Buffers& b) {
  float* o = b.out;
  const float* x = b.in;
  int* flag = &b.flag;
  const auto identity = sequence(128, [](int i) { return i; });
  const auto reversed = sequence(32, [](int i) { return 31 - i; });
#define ONE(NAME, THREADS, ...) \
  [=] { launch(NAME, dim3(1), dim3(THREADS), 0, nullptr, __VA_ARGS__); }
  return {
      {"oob_dynamic", [=] { launch(oob_dynamic, dim3(1), dim3(32), 128, nullptr, o, 32); }, {}},
      {"oob_static", ONE(oob_static, 32, o, 32), {}},
      {"oob_static_index", ONE(oob_static_index, 32, o, 32), {}},
      {"oob_global", ONE(oob_global, 32, b.flag ? nullptr : new float[256](), 256), {}},
      {"oob_local", ONE(oob_local, 32, o, 9), {}},
      {"oob_cp_async", ONE(oob_cp_async, 32, o, new float[256]()), {}},
      {"exit_early", ONE(exit_early, 32, o), {}},
      {"two_barriers", ONE(two_barriers, 64, o), {}},
      {"extra_barrier", ONE(extra_barrier, 64, o), {}},
      {"named_count", ONE(named_count, 64, o), {}},
      {"named_alone", ONE(named_alone, 64, o), {}},
      {"shuffle_divergent", ONE(shuffle_divergent, 32, o), {}},
      {"shuffle_two_sites", ONE(shuffle_two_sites, 32, o), {}},
      {"shuffle_not_in_mask", ONE(shuffle_not_in_mask, 32, o), {}},
      {"shuffle_bad_source", ONE(shuffle_bad_source, 32, o), {}},
      {"shuffle_width", ONE(shuffle_width, 32, o), {}},
      {"no_barrier_right", ONE(no_barrier_right, 128, o),
       sequence(128, [](int i) { return (i + 1) % 128; })},
      {"no_barrier_left", ONE(no_barrier_left, 128, o),
       sequence(128, [](int i) { return i ? i - 1 : 0; })},
      {"no_barrier_before_rewrite", ONE(no_barrier_before_rewrite, 128, o),
       sequence(128, [](int i) { return (i + 4) % 128; })},
      {"no_syncwarp", ONE(no_syncwarp, 32, o), reversed},
      {"shuffle_as_fence", ONE(shuffle_as_fence, 32, o), reversed},
      {"race_in_block", ONE(race_in_block, 32, o), {32}},
      {"race_between_blocks",
       [=] { launch(race_between_blocks, dim3(64), dim3(32), 0, nullptr, o); },
       {64}},
      {"no_threadfence",
       [=] { launch(no_threadfence, dim3(64), dim3(32), 0, nullptr, o, flag); },
       {64}},
      {"threadfence_right",
       [=] { launch(threadfence_right, dim3(64), dim3(32), 0, nullptr, o, flag); },
       {64}},
      {"spin_right", ONE(spin_right, 64, o, flag), {1}},
      {"unwritten", ONE(unwritten, 32, o), std::vector<float>(32, 1.f)},
      {"async_no_wait", ONE(async_no_wait, 32, o, x), identity},
      {"async_wait_after_barrier", ONE(async_wait_after_barrier, 32, o, x), identity},
      {"async_leak", ONE(async_leak, 32, o, x), {}},
      {"async_to_global", ONE(async_to_global, 32, o, x), identity},
      {"misaligned", ONE(misaligned, 32, o, x), {}},
      {"misaligned_load16", ONE(misaligned_load16, 32, o, x), {}},
      {"int_overflow", ONE(int_overflow, 32, o, 0x7fffffff), {}},
      {"stack_overflow", ONE(stack_overflow, 32, o, 0), {}},
      {"throws", ONE(throws, 32, o), {}},
  };
#undef ONE
}

}  // namespace

std::vector<std::string> names() {
  Buffers b;
  std::vector<std::string> list;
  for (const Case& c : cases(b)) list.push_back(c.name);
  return list;
}

Verdict run(const std::string& name) {
  static Buffers b;
  for (int i = 0; i < 256; ++i) b.in[i] = static_cast<float>(i);
  for (const Case& c : cases(b)) {
    if (c.name != name) continue;
    c.run();
    for (std::size_t i = 0; i < c.want.size(); ++i) {
      if (!(b.out[i] == c.want[i])) return Verdict::kWrong;
    }
    return Verdict::kSilent;
  }
  fail("no mistake is called '{}'", name);
}

}  // namespace octavo::simt::mistakes
