#pragma once
// The parts of the chapter's demo. Each prints its tables to the standard output.

#include <span>

#include "01_dense_ffn/cost.h"

namespace octavo::dense_ffn {

// Where the parameters, FLOPs and bytes of three published models are.
void show_costs();

// The feed-forward layer that the rooflines are drawn for: Llama-3-70B's, weights of 2 bytes.
struct RooflineLayer {
  std::int64_t D = 8192, F = 28672;
  int matrices = 3;
  double weight_bytes = 2;
  Work work(std::int64_t T) const;
};

// Time and share of the peak against the number of tokens, and where each machine's ridge is.
void show_rooflines(const RooflineLayer& layer, std::span<const Roofline> machines);

// The time that the bytes, FLOPs and launches of each GPU version of "matmul" and "ffn" allow: for
// a prompt and for one token.
void show_ladder();

// How many bits of a row change with its neighbours, for the versions of "matmul" on the host.
void show_bits();

}  // namespace octavo::dense_ffn
