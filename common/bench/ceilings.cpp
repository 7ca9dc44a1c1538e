#include "common/bench/ceilings.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>

#if defined(__FMA__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace octavo::bench {
namespace {

template <class F>
double thread_seconds_of(F f) {
  const double begin = thread_seconds();
  f();
  return thread_seconds() - begin;
}

template <class F>
double seconds_of(F f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The widest fused multiply-add that the build may use.
#if defined(__AVX512F__)
using Lanes = __m512;
inline Lanes broadcast(float x) { return _mm512_set1_ps(x); }
inline Lanes fma(Lanes a, Lanes b, Lanes c) { return _mm512_fmadd_ps(a, b, c); }
inline Lanes add(Lanes a, Lanes b) { return _mm512_add_ps(a, b); }
inline Lanes load(const float* p) { return _mm512_loadu_ps(p); }
#elif defined(__FMA__)
using Lanes = __m256;
inline Lanes broadcast(float x) { return _mm256_set1_ps(x); }
inline Lanes fma(Lanes a, Lanes b, Lanes c) { return _mm256_fmadd_ps(a, b, c); }
inline Lanes add(Lanes a, Lanes b) { return _mm256_add_ps(a, b); }
inline Lanes load(const float* p) { return _mm256_loadu_ps(p); }
#elif defined(__ARM_NEON)
using Lanes = float32x4_t;
inline Lanes broadcast(float x) { return vdupq_n_f32(x); }
inline Lanes fma(Lanes a, Lanes b, Lanes c) { return vfmaq_f32(c, a, b); }
inline Lanes add(Lanes a, Lanes b) { return vaddq_f32(a, b); }
inline Lanes load(const float* p) { return vld1q_f32(p); }
#else
using Lanes = float;
inline Lanes broadcast(float x) { return x; }
inline Lanes fma(Lanes a, Lanes b, Lanes c) { return std::fma(a, b, c); }
inline Lanes add(Lanes a, Lanes b) { return a + b; }
inline Lanes load(const float* p) { return *p; }
#endif
constexpr int kLanes = static_cast<int>(sizeof(Lanes) / sizeof(float));

float first_lane(Lanes v) {
  float x;
  std::memcpy(&x, &v, sizeof(x));
  return x;
}

// Twelve independent chains hide the latency of 4 to 5 cycles at 2 a cycle, and fit in 16
// registers.
constexpr int kChains = 12;

float fma_chains(std::int64_t steps) {
  const Lanes a = broadcast(0.999f), b = broadcast(1e-3f);
  Lanes c[kChains];
  for (int i = 0; i < kChains; ++i) c[i] = broadcast(static_cast<float>(i));
  for (std::int64_t s = 0; s < steps; ++s) {
    for (int i = 0; i < kChains; ++i) c[i] = fma(a, c[i], b);
  }
  for (int i = 1; i < kChains; ++i) c[0] = add(c[0], c[i]);
  return first_lane(c[0]);
}

constexpr std::int64_t kSteps = 2'000'000;  // about 5 to 10 ms
constexpr double kChainFlops = 2.0 * kChains * kLanes * static_cast<double>(kSteps);

// Reads n elements, four pieces of 8 KiB side by side: one stream alone does not fill the memory's
// queue, and streams far apart meet in one bank.
float sum_of(const float* p, std::int64_t n) {
  constexpr int kStreams = 4, kEach = 2;  // vectors of a stream a step
  constexpr std::int64_t kPiece = 2048;
  Lanes sums[kStreams][kEach];
  for (auto& stream : sums) {
    for (Lanes& s : stream) s = broadcast(0);
  }
  for (; n >= kStreams * kPiece; n -= kStreams * kPiece, p += kStreams * kPiece) {
    for (std::int64_t i = 0; i < kPiece; i += kEach * kLanes) {
      for (int s = 0; s < kStreams; ++s) {
        for (int k = 0; k < kEach; ++k) {
          sums[s][k] = add(sums[s][k], load(p + s * kPiece + i + k * kLanes));
        }
      }
    }
  }
  Lanes all = broadcast(0);
  for (const auto& of_stream : sums) {
    for (const Lanes& s : of_stream) all = add(all, s);
  }
  return first_lane(all);
}

constexpr std::int64_t kChunks =
    16;  // a thread, so that one that starts late leaves its share to the others

volatile float g_sink;  // keeps results alive

}  // namespace

double Ceilings::seconds(const Work& work, bool one_thread) const {
  return std::max(work.bytes / (one_thread ? read_core : read_bandwidth),
                  work.flops / (one_thread ? fma_core : fma_all));
}

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

CeilingProbe::CeilingProbe(ThreadPool& pool, std::int64_t bytes)
    : pool_(pool), buffer_(cpu_device(), bytes / 4) {
  std::fill_n(buffer_.data(), buffer_.size(), 1.0f);
  best_.threads = pool.size();
}

double CeilingProbe::read_once() {
  const std::int64_t parts = kChunks * pool_.size();
  const std::int64_t n = buffer_.size() / parts;
  std::vector<float> sums(static_cast<std::size_t>(parts));
  const double seconds = seconds_of([&] {
    pool_.parallel_for(parts, [&](std::int64_t i) {
      sums[static_cast<std::size_t>(i)] = sum_of(buffer_.data() + i * n, n);
    });
  });
  g_sink = sums[0];
  return static_cast<double>(n * parts) * sizeof(float) / seconds;
}

double CeilingProbe::read_core_once() {
  const auto n = buffer_.size();
  const double seconds = thread_seconds_of([&] { g_sink = sum_of(buffer_.data(), n); });
  return static_cast<double>(n) * sizeof(float) / seconds;
}

double CeilingProbe::copy_once() {
  const std::int64_t parts = kChunks * pool_.size();
  const std::int64_t n = buffer_.size() / (2 * parts);
  const double seconds = seconds_of([&] {
    pool_.parallel_for(parts, [&](std::int64_t i) {
      std::memcpy(buffer_.data() + (2 * i + 1) * n, buffer_.data() + 2 * i * n,
                  static_cast<std::size_t>(n) * sizeof(float));
    });
  });
  return static_cast<double>(2 * n * parts) * sizeof(float) / seconds;
}

void CeilingProbe::sample() {
  best_.read_core = std::max(best_.read_core, read_core_once());
  best_.read_bandwidth = std::max(best_.read_bandwidth, read_once());
  best_.copy_bandwidth = std::max(best_.copy_bandwidth, copy_once());
  const double one = thread_seconds_of([] { g_sink = fma_chains(kSteps); });
  best_.fma_core = std::max(best_.fma_core, kChainFlops / one);
  const double all = seconds_of([&] {
    pool_.parallel_for(kChunks * pool_.size(),
                       [](std::int64_t) { g_sink = fma_chains(kSteps / kChunks); });
  });
  best_.fma_all = std::max(best_.fma_all, pool_.size() * kChainFlops / all);
  ++best_.samples;
}

void CeilingProbe::scrub() { (void)read_once(); }

}  // namespace octavo::bench
