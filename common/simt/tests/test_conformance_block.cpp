// Barriers, indices, atomics and shared memory against plain models.

#include <algorithm>
#include <functional>
#include <numeric>

#include "common/simt/tests/conformance_fixture.h"

namespace octavo::simt::conformance {
namespace {

class BlockConformance : public Conformance {};

INSTANTIATE_TEST_SUITE_P(Schedules, BlockConformance, ::testing::ValuesIn(schedules_under_test()),
                         name_of_schedule);

TEST_P(BlockConformance, BarriersCountPredicatesOfTheWholeBlock) {
  for (int threads : {1, 31, 32, 33, 96, 1024}) {
    const auto n = static_cast<std::size_t>(threads);
    for (int set : {0, 1, threads / 2, threads}) {
      Shared<int> predicate(n), out(n);
      for (int i = 0; i < threads; ++i)
        predicate[static_cast<std::size_t>(threads - 1 - i)] = i < set ? i + 2 : 0;
      for (BlockVote kind : {BlockVote::kCount, BlockVote::kOr, BlockVote::kAnd}) {
        const int want = kind == BlockVote::kCount ? set
                         : kind == BlockVote::kOr  ? set > 0
                                                   : set == threads;
        kernels::block_vote(kind, threads, predicate.data(), out.data());
        finish();
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_EQ(out[i], want) << threads << " threads, " << set << " set";
      }
    }
  }
}

TEST_P(BlockConformance, BlockReductionMayFollowAnotherOnTheSameArray) {
  Shared<int> in(96), out(192);
  for (std::uint64_t i = 0; i < 96; ++i) in[i] = static_cast<int>(random(60, i) % 1000);
  kernels::block_reduction(in.data(), out.data());
  finish();
  for (std::size_t i = 0; i < 96; ++i) {
    ASSERT_EQ(out[2 * i], std::accumulate(in.data(), in.data() + 96, 0));
    ASSERT_EQ(out[2 * i + 1], *std::max_element(in.data(), in.data() + 96));
  }
}

TEST_P(BlockConformance, NamedBarriersHandValuesFromWarpToWarp) {
  for (int rounds : {1, 2, 5}) {
    const auto n = static_cast<std::size_t>(rounds) * 32;
    Shared<int> in(n), out(n);
    for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<int>(i) + 1;
    out.fill(0);
    kernels::named_barriers(rounds, in.data(), out.data());
    finish();
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], in[i / 32 * 32 + 31 - i % 32]) << i;
  }
}

TEST_P(BlockConformance, IndicesOfThreeDimensions) {
  for (const auto& [grid, block] : {std::pair<Extents, Extents>{{1, 1, 1}, {1, 1, 1}},
                                    {{3, 2, 2}, {4, 3, 2}},
                                    {{2, 1, 3}, {33, 1, 1}},
                                    {{1, 5, 1}, {2, 2, 64}}}) {
    const unsigned threads = block.x * block.y * block.z;
    Shared<unsigned> out(std::size_t{12} * threads * grid.x * grid.y * grid.z);
    kernels::indices(grid, block, out.data());
    finish();
    const unsigned* got = out.data();
    for (unsigned b = 0; b < grid.x * grid.y * grid.z; ++b) {
      for (unsigned t = 0; t < threads; ++t, got += 12) {
        const unsigned want[12] = {t % block.x,
                                   t / block.x % block.y,
                                   t / block.x / block.y,
                                   b % grid.x,
                                   b / grid.x % grid.y,
                                   b / grid.x / grid.y,
                                   block.x,
                                   block.y,
                                   block.z,
                                   grid.x,
                                   grid.y,
                                   grid.z};
        ASSERT_TRUE(std::equal(got, got + 12, want)) << "block " << b << " thread " << t;
      }
    }
  }
}

int folded(Atomic kind, int cell, int operand) {
  switch (kind) {
    case Atomic::kAdd:
    case Atomic::kCas:
      return cell + operand;
    case Atomic::kMax:
      return std::max(cell, operand);
    case Atomic::kMin:
      return std::min(cell, operand);
    case Atomic::kOr:
      return cell | operand;
    case Atomic::kAnd:
      return cell & operand;
    case Atomic::kExch:
      break;
  }
  return operand;
}

// The old values and the last one must be those of some order of the operations, one after the
// other: a chain from the first value, each operation used once.
template <class T, class Fold>
void check_chain(Fold fold, T first, std::vector<std::pair<T, T>> old_and_operand, T last) {
  T cell = first;
  while (!old_and_operand.empty()) {
    // Prefer one that changes the cell only when none leaves it: a stay must not be left behind.
    auto next = old_and_operand.end();
    for (auto it = old_and_operand.begin(); it != old_and_operand.end(); ++it) {
      if (it->first != cell) continue;
      if (next == old_and_operand.end() || fold(cell, it->second) == cell) next = it;
    }
    ASSERT_TRUE(next != old_and_operand.end()) << "no operation saw " << cell;
    cell = fold(cell, next->second);
    old_and_operand.erase(next);
  }
  EXPECT_EQ(cell, last);
}

TEST_P(BlockConformance, AtomicsOfEveryKindInGlobalAndSharedMemory) {
  constexpr int kThreads = 64;
  for (Atomic kind : {Atomic::kAdd, Atomic::kMax, Atomic::kMin, Atomic::kOr, Atomic::kAnd,
                      Atomic::kExch, Atomic::kCas}) {
    for (bool in_shared : {false, true}) {
      const std::size_t n = in_shared ? kThreads : 2 * kThreads;
      Shared<int> cell(1), operand(n), old(n);
      cell[0] = kind == Atomic::kAnd ? -1 : 5;
      const int first = cell[0];
      for (std::size_t i = 0; i < n; ++i) {
        operand[i] = static_cast<int>(random(70, i) % 1000) + 1000 * (static_cast<int>(i) + 1);
        if (kind == Atomic::kAnd) operand[i] = ~(1 << (i % 31));
        if (kind == Atomic::kMin) operand[i] = -operand[i];
      }
      kernels::atomic(kind, in_shared, kThreads, cell.data(), operand.data(), old.data());
      finish();
      SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) +
                   (in_shared ? " shared" : " global"));
      std::vector<std::pair<int, int>> seen;
      for (std::size_t i = 0; i < n; ++i) seen.emplace_back(old[i], operand[i]);
      check_chain([kind](int c, int o) { return folded(kind, c, o); }, first, seen, cell[0]);
    }
  }
}

TEST_P(BlockConformance, AtomicAddOfFloats) {
  for (bool in_shared : {false, true}) {
    const std::size_t n = in_shared ? 48 : 96;
    Shared<float> cell(1), operand(n), old(n);
    cell[0] = 1;
    float sum = 1;
    for (std::size_t i = 0; i < n; ++i)
      sum += operand[i] = static_cast<float>(i) * 0.5f;  // exact in any order
    kernels::atomic_add(in_shared, 48, cell.data(), operand.data(), old.data());
    finish();
    EXPECT_EQ(cell[0], sum);
    std::vector<std::pair<float, float>> seen;
    for (std::size_t i = 0; i < n; ++i) seen.emplace_back(old[i], operand[i]);
    check_chain(std::plus<float>(), 1.0f, seen, cell[0]);
  }
}

TEST_P(BlockConformance, ThreadfencePublishesToTheLastBlock) {
  Shared<int> partial(8), sum(1);
  Shared<unsigned> arrived(1);
  partial.fill(0);
  arrived[0] = 0;
  sum[0] = 0;
  kernels::last_block(partial.data(), arrived.data(), sum.data());
  finish();
  EXPECT_EQ(sum[0], 36);
}

TEST_P(BlockConformance, SharedArraysAreApart) {
  for (int words : {1, 33, 12288, 40000}) {
    Shared<int> out(1);
    out[0] = 0;
    kernels::shared_arrays(words, out.data());
    finish();
    EXPECT_EQ(out[0], 1) << words;
  }
}

TEST_P(BlockConformance, ConstantsReachTheKernel) {
  Shared<int> out(4);
  for (int base : {10, 20}) {
    const int values[4] = {base, base + 1, base + 2, base + 3};
    kernels::constants(values, out.data());
    finish();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], base + i);
  }
}

}  // namespace
}  // namespace octavo::simt::conformance
