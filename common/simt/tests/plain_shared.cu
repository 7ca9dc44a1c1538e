// Does not compile for the executor, on purpose: see the test SimtKeywords.SharedIsRefused.

#include "common/simt/simt.h"

__global__ void plain_shared(float* o) {
  __shared__ float s[32];
  s[threadIdx.x] = 1;
  o[threadIdx.x] = s[threadIdx.x];
}
