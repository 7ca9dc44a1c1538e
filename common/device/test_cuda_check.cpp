#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/device/cuda_check.h"

namespace octavo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Passes with and without a GPU: selecting device 10000 fails on both.
TEST(CudaCheck, KeepsTheExpressionAndThePlace) {
  EXPECT_THAT([] { CUDA_CHECK(cudaSetDevice(10000)); },
              ThrowsMessage<Error>(AllOf(HasSubstr("test_cuda_check.cpp:"),
                                         HasSubstr("cudaSetDevice(10000) failed"))));
}

TEST(CudaCheck, SuccessPassesQuietly) { EXPECT_NO_THROW(CUDA_CHECK(cudaSuccess)); }

}  // namespace
}  // namespace octavo
