#pragma once
// This chapter's topics for the contract suite and the benchmarks.

#include "01_dense_ffn/cast.h"
#include "01_dense_ffn/ffn.h"
#include "01_dense_ffn/matmul.h"
#include "common/testing/topic.h"

namespace octavo::dense_ffn {

struct MatmulShape {
  std::int64_t T, N, K;
};
testing::Topic<MatmulShape, MatmulArgs> matmul_topic();

struct FfnShape {
  std::int64_t T, D, F;
  Activation activation = Activation::kSilu;
  bool gated = true;
  bool bias = false;
};
testing::Topic<FfnShape, FfnArgs> ffn_topic();

struct CastShape {
  std::int64_t n;
};
testing::Topic<CastShape, CastArgs> cast_topic();

}  // namespace octavo::dense_ffn
