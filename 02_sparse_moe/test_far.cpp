// The kernels at the far end of operands with more than 2^31 elements (common/testing/far.h).

#include <gtest/gtest.h>

#include <array>

#include "02_sparse_moe/experts.h"
#include "02_sparse_moe/gating.h"
#include "02_sparse_moe/versions.h"
#include "common/base/threads.h"
#include "common/device/registry.h"
#include "common/testing/far.h"

namespace octavo::sparse_moe {
namespace {

using testing::Far;
using testing::LastBlocks;

class MoeFarEnd : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::kFarMemory) GTEST_SKIP() << "not under a sanitizer";
  }

  ThreadPool threads_{1};
  std::shared_ptr<const Registry> registry_ = registry_of(append_versions);
};

// The last row's last expert is the best. With 65 experts and more a row has 32 lanes, and these
// rows more lanes than 32 bits count.
TEST_F(MoeFarEnd, OfLogits) {
  constexpr std::int64_t T = (1 << 27) + 3, E = 65;
  const Far<float> logits(T * E), weights(T);
  const Far<int> ids(T);
  logits.last() = 50;
  Exec exec(simt_device(), DType::kF32, threads_, 0);
  for (const Version<GatingArgs>& v : registry_->versions<GatingArgs>("gating")) {
    if (v.backend != Backend::kSimt) continue;
    ids.last() = -1;
    const LastBlocks blocks(1);
    v.run(exec,
          {.logits = logits.view({T, E}), .ids = ids.view({T, 1}), .weights = weights.view({T, 1})},
          Prepared());
    EXPECT_EQ(ids.last(), E - 1) << v.name;
    EXPECT_EQ(weights.last(), 1.0f) << v.name;
  }
}

struct Sizes {
  std::int64_t T, k, E, D, F;
};

// All slots go to the last expert; the layer is not gated, and its only terms are the last ones.
template <class W>
void expect_last_element(const Version<ExpertsArgs>& version, ThreadPool& threads, const Sizes& s) {
  const Far<W> x(s.T * s.D), up(s.E * s.F * s.D), down(s.E * s.D * s.F);
  const Far<int> ids(s.T * s.k), order(s.T * s.k), offsets(s.E + 1);
  const Far<float> weight(s.T * s.k), y(s.T * s.D);
  x.last() = W(3.0f);
  up.last() = W(2.0f);
  down.last() = W(0.5f);
  weight.last() = 4;
  for (std::int64_t slot = 0; slot < s.T * s.k; ++slot) {
    ids.data()[slot] = static_cast<int>(s.E - 1);
    order.data()[slot] = static_cast<int>(slot);
  }
  offsets.last() = static_cast<int>(s.T * s.k);
  ExpertsArgs a;
  a.x = TensorView(x.view({s.T, s.D}));
  a.weights.activation = Activation::kRelu;
  a.weights.up = TensorView(up.view({s.E, s.F, s.D}));
  a.weights.down = TensorView(down.view({s.E, s.D, s.F}));
  a.ids = ids.view({s.T, s.k});
  a.weight = weight.view({s.T, s.k});
  a.offsets = offsets.view({s.E + 1});
  a.order = order.view({s.T * s.k});
  a.y = y.view({s.T, s.D});
  const Device device = simt_device();
  if (!version.takes(a, device, dtype_of<W>())) return;
  const std::int64_t bytes = version.workspace(a, device);
  const Far<std::byte> scratch(bytes);
  Exec exec(device, dtype_of<W>(), threads, Workspace(View<std::byte, 1>(scratch.data(), {bytes})));
  const LastBlocks blocks(static_cast<int>(s.E) + 2);  // a list may end with blocks without a tile
  version.run(exec, a, Prepared());
  EXPECT_EQ(y.last(), 12.0f) << version.name << " T " << s.T << " E " << s.E;
}

TEST_F(MoeFarEnd, OfALayer) {
  for (const Version<ExpertsArgs>& v : registry_->versions<ExpertsArgs>("experts")) {
    if (v.backend != Backend::kSimt) continue;
    for (const Sizes& s : {Sizes{66000, 2, 2, 16400, 40},     // T k D
                           Sizes{66000, 2, 2, 40, 16400},     // T k F
                           Sizes{1, 1, 16, 12000, 12000}}) {  // E F D
      if (v.dtypes.contains(DType::kF32)) expect_last_element<float>(v, threads_, s);
      if (v.dtypes.contains(DType::kBF16)) expect_last_element<bf16>(v, threads_, s);
    }
  }
}

// An expert whose first place plus the rows of the grid passes 2^31.
TEST_F(MoeFarEnd, OfAGridForTheRowsOfALateExpert) {
  constexpr std::int64_t T = (1 << 30) + 64;
  const auto& v = registry_->find<ExpertsArgs>("experts", Backend::kSimt, "gpu_v1_loop");
  const Far<float> x(T), weight(T), y(T);
  const Far<int> ids(T), order(T);
  std::vector<float> matrix(2, 1.0f);
  std::vector<int> offsets = {0, static_cast<int>(T) - 3, static_cast<int>(T)};
  ExpertsArgs a;
  a.x = TensorView(x.view({T, 1}));
  a.weights.up = a.weights.down = TensorView(View<float, 3>(matrix, {2, 1, 1}));
  a.ids = ids.view({T, 1});
  a.weight = weight.view({T, 1});
  a.offsets = {offsets.data(), {3}};
  a.order = order.view({T});
  a.y = y.view({T, 1});
  const std::int64_t bytes = v.workspace(a, simt_device());
  const Far<std::byte> scratch(bytes);
  Exec exec(simt_device(), DType::kF32, threads_,
            Workspace(View<std::byte, 1>(scratch.data(), {bytes})));
  const LastBlocks blocks(1);
  EXPECT_NO_THROW(v.run(exec, a, Prepared()));
}

}  // namespace
}  // namespace octavo::sparse_moe
