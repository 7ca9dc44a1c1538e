#pragma once
// Topic "cost": parameters, FLOPs and bytes of the parts of a transformer, from its config, and the
// roofline that turns FLOPs and bytes into time. Nothing runs; every number is a formula.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/work.h"
#include "common/model/config.h"

namespace octavo {

// What one forward computes: T rows that belong to S sequences, each row attending to `context`
// positions. A decode step of 8 requests is T = S = 8; the reading of one prompt is S = 1.
struct ForwardShape {
  std::int64_t tokens = 1;     // T
  std::int64_t sequences = 1;  // S, from 1 to T; the head runs for one row of each
  std::int64_t context = 1;
};

enum class Part : std::uint8_t {
  kEmbedding,
  kProjections,    // queries, keys, values and output of attention
  kScores,         // q . k and the weighted sum of v, over the cache: grows with the context
  kDenseFfn,       // of the layers that are not sparse
  kRouter,         // of the sparse layers
  kRoutedExperts,  // the same
  kSharedExperts,  // the same
  kNorms,
  kHead,
};

std::string_view name_of(Part part);

struct PartCost {
  Part part{};
  std::int64_t parameters = 0;  // stored
  std::int64_t active = 0;      // that one token uses
  Work work;                    // of the whole forward
};

// The parts that the model has, in the order of Part. The rules:
//   FLOPs   2 a weight and row; 2 T context H (Dk + Dv) a layer for the scores and their sum, with
//           keys and values as wide as the heads (latent attention too); 4 an element of a norm.
//   bytes   each weight once in the config's type, the routed experts that a batch is expected to
//           touch (expected_experts), and for each part and layer its input and output in fp32. The
//           cache is read once a sequence and written once a row, in the config's type. What
//           passes between two matrices of one part is not counted: it need not leave the chip.
// Throws Error when a size is below 1 or S above T.
std::vector<PartCost> forward_cost(const model::ModelConfig& config, const ForwardShape& shape);

// The sum over all parts.
PartCost total(const std::vector<PartCost>& parts);

// How many different experts T rows are expected to touch when each picks `top_k` of E by itself
// and evenly: E (1 - (1 - top_k / E)^T).
double expected_experts(std::int64_t experts, std::int64_t top_k, std::int64_t tokens);

// A machine as the roofline model sees it (Williams et al. 2009).
struct Roofline {
  std::string name;
  double bandwidth = 0;  // bytes/s
  double flops = 0;      // FLOP/s

  double ridge() const { return flops / bandwidth; }  // FLOP a byte
  double seconds(const Work& work) const;             // the larger of the two times
  double share_of_peak(const Work& work) const;       // FLOPs / seconds / flops, from 0 to 1
};

// The fewest tokens with which a feed-forward layer [D, F] of `matrices` matrices is bound by
// arithmetic on this machine; 0 when its activations alone, at 8 D bytes a token, never let it.
std::int64_t tokens_at_ridge(const Roofline& machine, std::int64_t D, std::int64_t F, int matrices,
                             double weight_bytes);

}  // namespace octavo
