#include "02_sparse_moe/experts_config.h"

namespace octavo::sparse_moe {

std::int64_t most_tiles(std::int64_t slots, std::int64_t E, std::int64_t m) {
  return slots <= E ? slots : E + (slots - E) / m;
}

dense_ffn::MmaConfig choose_tile(std::int64_t slots, std::int64_t E, std::int64_t columns,
                                 const Device& device) {
  // An even spread fills less than half of a large tile: the rest would be multiplied for nothing.
  if (slots < E * kTileLarge.m / 2) return kTileSmall;
  // The device has not the shared memory.
  if (kTileLarge.shared_bytes() > device.shared_bytes) return kTileSmall;
  // Some multiprocessors would get no large tile.
  if (tile_launch("", kTileLarge, slots, E, columns).blocks() < device.multiprocessors) {
    return kTileSmall;
  }
  // A large tile reads each weight a quarter as often, each row half as often.
  return kTileLarge;
}

LaunchConfig tile_launch(std::string_view kernel, const dense_ffn::MmaConfig& tile,
                         std::int64_t slots, std::int64_t E, std::int64_t columns) {
  return {.kernel = kernel,
          .grid = {most_tiles(slots, E, tile.m), ceil_div(columns, tile.n)},
          .block = {tile.threads},
          .shared_bytes = tile.shared_bytes()};
}

}  // namespace octavo::sparse_moe
