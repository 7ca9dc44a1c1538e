// y_t = sum_j weight_tj Expert_{ids_tj}(x_t); x [T, D], gate, up [E, F, D], down [E, D, F] bf16,
// y [T, D].
//
// Idea: the experts' rows, cut into tiles, are one list, and one launch runs all of it: a block
// finds its tile in the offsets (experts_tiles.h) and multiplies as the dense layer does, by
// cp.async, ldmatrix and mma. Rows of x are gathered by the copy itself, through the slots, and
// results leave for their slots' rows: nothing is padded, permuted or copied besides. H lies in the
// order of the experts, so the second product reads rows that are neighbours.
//
// What it should improve: three launches whatever E is, all multiprocessors busy, and only an
// expert's last tile multiplies rows that are not there. What limits it: with few rows an expert
// the weights' bytes, E 3 D F of them (v4 for the fewest); with many, what limits
// matmul_gpu_v4_mma.
//
// Grid: x along tiles, as many as a plan could need, y along columns; 256 threads for 128 x 128 or
// 128 for 32 x 64 (choose_tile). FLOPs: 6 T k D F when gated, else 4 T k D F. Bytes, of R tiles of
// m rows: 2 R (2 F) D (1 + m / n) read and 2 T k F written for H, 2 R D F (1 + m / n) read and 4 T
// k D written for the slots, then those of the sum. Instantiations: both tiles, each with rows of
// 16-byte pieces and with any rows, of two kernels.

#include "02_sparse_moe/experts_down_tile.h"
#include "02_sparse_moe/experts_launchers.h"
#include "02_sparse_moe/experts_tiles.h"
#include "02_sparse_moe/gpu_versions.h"
#include "common/simt/launch.h"

namespace octavo::sparse_moe {
namespace {

using namespace device;
using namespace dense_ffn::device;
using namespace simt;
using simt::bf16;

using LargeTile = MmaTile<kTileLarge.m, kTileLarge.n>;
using SmallTile = MmaTile<kTileSmall.m, kTileSmall.n>;
static_assert(LargeTile::kThreads == kTileLarge.threads);
static_assert(SmallTile::kThreads == kTileSmall.threads);

// Row r of a tile is the row of a token of x.
struct GatheredRows {
  const bf16* const* row;  // [kM] in shared memory; null: no row
  __device__ const bf16* operator()(int r, int) const { return row[r]; }
};

// A block owns a tile of H: up to kM places of one expert by kN / 2 columns (kN when not gated).
template <class Tile, bool Aligned>
__global__ void __launch_bounds__(Tile::kThreads, Aligned ? 2 : 1)
    hidden_kernel(ExpertsParams<bf16> a) {
  SIMT_SHARED(const bf16*, row, [Tile::kM]);
  const ExpertTile tile = find_tile(a.offsets, a.E, Tile::kM, blockIdx.x);
  if (tile.expert < 0) return;
  for (int r = threadIdx.x; r < Tile::kM; r += Tile::kThreads) {
    row[r] = r < tile.rows ? a.x + row_start(a.order[tile.first + r] / a.k, a.D) : nullptr;
  }
  __syncthreads();  // the rows are known
  // All experts' places are one H, and all experts' rows one matrix, so that what differs from the
  // dense layer's tile is three numbers.
  const dense_ffn::HiddenParams<bf16> all = a.layer(0, 0, tile.first + tile.rows);
  const int f0 = blockIdx.y * (a.gate != nullptr ? Tile::kN / 2 : Tile::kN);
  hidden_tile<Tile, Aligned>(
      all, GatheredRows{row},
      DealtRows{all.gate, all.up, f0, a.F, row_start(tile.expert, 0, a.F, a.D)}, tile.first,
      *dynamic_shared<typename Tile::Stages>());
}

// A block owns up to kM places of one expert by kN columns of their slots' results.
template <class Tile, bool Aligned>
__global__ void __launch_bounds__(Tile::kThreads, Aligned ? 2 : 1)
    down_kernel(ExpertsParams<bf16> a) {
  const ExpertTile tile = find_tile(a.offsets, a.E, Tile::kM, blockIdx.x);
  if (tile.expert < 0) return;
  down_tile<Tile, Aligned>(a, tile.expert, a.hidden + row_start(tile.first, a.F), tile.rows,
                           a.order + tile.first, tile.rows, blockIdx.y * Tile::kN,
                           *dynamic_shared<typename Tile::Stages>());
}

struct Launches {
  LaunchConfig hidden, down;
};

Launches tile_launches(const ExpertsArgs& a, const Device& device) {
  const ExpertStack& w = a.weights;
  const std::int64_t columns = w.hidden() * (w.gated() ? 2 : 1);
  const dense_ffn::MmaConfig tile = choose_tile(a.slots(), w.experts(), columns, device);
  return {tile_launch("hidden", tile, a.slots(), w.experts(), columns),
          tile_launch("down", tile, a.slots(), w.experts(), w.width())};
}

template <class Tile, bool Aligned>
void launch_tiles(Exec& exec, const Launches& l, const ExpertsParams<bf16>& a) {
  launch(hidden_kernel<Tile, Aligned>, l.hidden, exec.stream, a);
  launch(down_kernel<Tile, Aligned>, l.down, exec.stream, a);
}

std::int64_t workspace(const ExpertsArgs& a, const Device&) { return experts_bytes(a); }

std::vector<LaunchConfig> launches(const ExpertsArgs& a, const Device& device) {
  if (a.rows() == 0) return {};
  const Launches l = tile_launches(a, device);
  return {l.hidden, l.down, sparse_moe::SIMT_BACKEND::combine_launch(a)};
}

void run(Exec& exec, const ExpertsArgs& args, const Prepared&) {
  const Workspace::Scope scope(exec.workspace);
  const ExpertsParams<bf16> a = params_of<bf16>(args, exec.workspace);
  if (args.rows() == 0) return;
  const Launches l = tile_launches(args, exec.device);
  const bool large = l.hidden.threads() == kTileLarge.threads, aligned = rows_aligned(a);
  if (large && aligned) launch_tiles<LargeTile, true>(exec, l, a);
  if (large && !aligned) launch_tiles<LargeTile, false>(exec, l, a);
  if (!large && aligned) launch_tiles<SmallTile, true>(exec, l, a);
  if (!large && !aligned) launch_tiles<SmallTile, false>(exec, l, a);
  sparse_moe::SIMT_BACKEND::combine(exec, args, a.slot_y);
}

}  // namespace

namespace SIMT_BACKEND {

Version<ExpertsArgs> experts_gpu_v3_tiles() {
  return {.name = "gpu_v3_tiles",
          .backend = SIMT_THIS_BACKEND,
          .dtypes = {DType::kBF16},
          .batch_invariant = true,
          .workspace = workspace,
          .launches = launches,
          .run = run};
}

}  // namespace SIMT_BACKEND
}  // namespace octavo::sparse_moe
