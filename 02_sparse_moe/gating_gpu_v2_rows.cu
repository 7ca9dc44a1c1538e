// ids, weights = the k largest of z = logits (+ bias), and their softmax; logits [T, E], bias [E],
// ids, weights [T, k].
//
// Idea: a row takes as many lanes as it needs: 4 for up to 16 experts, 8 for 64, 32 for 1024, so
// that a warp does up to 8 rows at once. Lanes load 16 bytes and keep the scores in registers; the
// butterflies that find the maximum and the next expert are as long as the row is wide.
//
// What it should improve: every logit is read once, and no lane idles for want of experts. What
// limits it: for few tokens the launch itself; for many experts the k rounds, each of which looks
// at all scores again.
//
// Grid: blocks of 128 threads, 32 to 4 rows. FLOPs: 3 T E. Bytes: 4 T E read, 8 T k written.
// Instantiations: 4 x 4, 8 x 8, 32 x 8 and 32 x 32 lanes and scores a lane.

#include "02_sparse_moe/gating_tile.h"
#include "02_sparse_moe/gpu_versions.h"
#include "common/simt/launch.h"

namespace octavo::sparse_moe {
namespace {

using namespace device;
using namespace simt;

constexpr int kThreads = 128;
constexpr int kPiece = 4;  // scores of 16 bytes

// The scores of a row that one lane keeps: piece p of the lane of rank r is experts 4 (p Lanes + r)
// and the 3 after it. Bit i of `chosen`: score i is chosen. Those beyond the last expert are -inf
// and rank behind the k that there are, also where these are -inf, for their ids are lower.
template <int Lanes, int Each>
struct Scores {
  static_assert(Each % kPiece == 0 && Each <= 32);
  float z[Each];
  unsigned chosen = 0;

  __device__ static int id(int i) {
    return (i / kPiece * Lanes + WarpTile<Lanes>().rank()) * kPiece + i % kPiece;
  }

  __device__ void load(const GatingParams& a, const float* logits) {
    SIMT_UNROLL
    for (int i = 0; i < Each; i += kPiece) {
      Pack<float, kPiece> v = fetch(a, logits, id(i));
      const Pack<float, kPiece> b = a.bias != nullptr ? fetch(a, a.bias, id(i)) : Pack<float, 4>{};
      SIMT_UNROLL
      for (int c = 0; c < kPiece; ++c) {
        z[i + c] = a.bias != nullptr ? v[c] + b[c] : v[c];
      }
    }
  }
  // Four neighbours from e on; -inf beyond the end.
  __device__ static Pack<float, kPiece> fetch(const GatingParams& a, const float* from, int e) {
    if (a.aligned && e < a.E) return load16(from + e);
    Pack<float, kPiece> v;
    SIMT_UNROLL
    for (int c = 0; c < kPiece; ++c) v[c] = e + c < a.E ? from[e + c] : -INFINITY;
    return v;
  }

  __device__ float largest() const {
    float most = -INFINITY;
    SIMT_UNROLL
    for (int i = 0; i < Each; ++i) most = max(most, z[i]);  // passes over NaN
    return WarpTile<Lanes>().reduce(most, Max());
  }
  __device__ float sum(float largest) const {
    float all = 0;
    SIMT_UNROLL
    for (int i = 0; i < Each; ++i) all += std::exp(z[i] - largest);
    return WarpTile<Lanes>().reduce(all, Add());
  }
  __device__ Candidate next() const {
    Candidate best = {-INFINITY, kNobody};
    SIMT_UNROLL
    for (int i = 0; i < Each; ++i) {
      const Candidate c = {z[i], id(i)};
      if (!(chosen >> i & 1) && before(c, best)) best = c;
    }
    return first_of<Lanes>(best);
  }
  __device__ void mark(int expert) {
    const int piece = expert / kPiece;
    if (piece % Lanes != WarpTile<Lanes>().rank()) return;
    chosen |= 1u << (piece / Lanes * kPiece + expert % kPiece);
  }
};

// A block owns kThreads / Lanes rows, Lanes neighbouring lanes one.
template <int Lanes, int Each>
__global__ void __launch_bounds__(kThreads) rows_kernel(GatingParams a) {
  // Rows first: T rows of 32 lanes are more threads than 32 bits count.
  const int t = blockIdx.x * (kThreads / Lanes) + threadIdx.x / Lanes;
  const int rank = WarpTile<Lanes>().rank();
  if (t >= a.T) return;
  int* const ids = a.ids + static_cast<std::size_t>(t) * a.k;
  float* const weights = a.weights + static_cast<std::size_t>(t) * a.k;
  Scores<Lanes, Each> row;
  row.load(a, a.logits + static_cast<std::size_t>(t) * a.E);
  const float largest = row.largest(), all = row.sum(largest);
  if (all != all) return store_bad_row<Lanes>(a, ids, weights);
  float chosen = 0;
  for (int j = 0; j < a.k; ++j) {
    const Candidate c = row.next();
    row.mark(c.id);
    const float w = std::exp(c.z - largest);
    chosen += w;
    if (j % Lanes != rank) continue;
    ids[j] = c.id;
    weights[j] = w;
  }
  for (int j = rank; j < a.k; j += Lanes) weights[j] /= a.over_chosen ? chosen : all;
}

// Calls run(kernel, lanes) with the narrowest that holds E experts.
template <class Run>
void with_kernel(std::int64_t E, Run run) {
  if (E <= 16) return run(rows_kernel<4, 4>, 4);
  if (E <= 64) return run(rows_kernel<8, 8>, 8);
  if (E <= 256) return run(rows_kernel<32, 8>, 32);
  run(rows_kernel<32, 32>, 32);
}

std::vector<LaunchConfig> launches(const GatingArgs& a, const Device&) {
  std::vector<LaunchConfig> all;
  with_kernel(a.experts(), [&](auto, int lanes) {
    if (a.rows() == 0) return;
    all = {{.kernel = "rows", .grid = {ceil_div(a.rows(), kThreads / lanes)}, .block = {kThreads}}};
  });
  return all;
}

void run(Exec& exec, const GatingArgs& args, const Prepared&) {
  const GatingParams a = params_of(args);
  with_kernel(a.E, [&](auto kernel, int) {
    for (const LaunchConfig& l : launches(args, exec.device)) launch(kernel, l, exec.stream, a);
  });
}

}  // namespace

namespace SIMT_BACKEND {

Version<GatingArgs> gating_gpu_v2_rows() {
  return {
      .name = "gpu_v2_rows",
      .backend = SIMT_THIS_BACKEND,
      .dtypes = {DType::kF32, DType::kBF16},
      .batch_invariant = true,
      .supports = [](const GatingArgs& a, const Device&) { return a.experts() <= kGatingExperts; },
      .launches = launches,
      .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::sparse_moe
