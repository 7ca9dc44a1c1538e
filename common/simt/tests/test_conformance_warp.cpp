// Operations among lanes against scalar models of their PTX definitions.

#include <algorithm>
#include <bit>

#include "common/simt/tests/conformance_fixture.h"

namespace octavo::simt::conformance {
namespace {

class WarpConformance : public Conformance {};

INSTANTIATE_TEST_SUITE_P(Schedules, WarpConformance, ::testing::ValuesIn(schedules_under_test()),
                         name_of_schedule);

constexpr std::uint32_t kUntouched = 0xdeadbeef;

// All lanes, half, quarter, one lane, scattered, all but one.
constexpr std::uint32_t kMasks[] = {0xffffffffu, 0x0000ffffu, 0xffff0000u, 0x00ff0000u,
                                    0x00000001u, 0x80000000u, 0x0f0f0f0fu, 0x55555555u,
                                    0xaaaaaaaau, 0x12345678u, 0xfffffffeu, 0x7fffffffu};

bool has(std::uint32_t mask, int lane) { return mask >> lane & 1; }

// The pseudocode of PTX shfl.sync, with CUDA's c = ((32 - width) << 8) | clamp. Returns the source
// lane j.
int ptx_source(Shuffle kind, int lane, int operand, int width) {
  const int b = operand & 31, segment = (32 - width) & 31, clamp = kind == Shuffle::kUp ? 0 : 31;
  const int max_lane = (lane & segment) | (clamp & ~segment), min_lane = lane & segment;
  int j = 0;
  bool p = false;
  switch (kind) {
    case Shuffle::kUp:
      j = lane - b;
      p = j >= max_lane;
      break;
    case Shuffle::kDown:
      j = lane + b;
      p = j <= max_lane;
      break;
    case Shuffle::kXor:
      j = lane ^ b;
      p = j <= max_lane;
      break;
    case Shuffle::kIndex:
      j = min_lane | (b & ~segment);
      p = j <= max_lane;
      break;
  }
  return p ? j : lane;
}

// Reading a lane outside the mask is undefined: of the operands, only those are kept that read
// inside.
int defined_operand(Shuffle kind, std::uint32_t mask, int lane, int operand, int width) {
  for (int o = 0; o < 32; ++o) {
    const int candidate = (operand + o) & 31;
    if (has(mask, ptx_source(kind, lane, candidate, width))) return candidate | (operand & 32);
  }
  return 0;
}

template <class T>
void check_shuffle(Shuffle kind, std::uint32_t mask, int width, const std::vector<int>& operands,
                   T unit) {
  Shared<T> in(32), out(32);
  Shared<int> operand(32);
  for (std::size_t l = 0; l < 32; ++l) {
    in[l] = static_cast<T>(l + 1) * unit;
    out[l] = T{77};
    operand[l] = defined_operand(kind, mask, static_cast<int>(l), operands[l], width);
  }
  kernels::shuffle(kind, mask, width, operand.data(), in.data(), out.data());
  memory::backend::synchronize();
  for (int l = 0; l < 32; ++l) {
    const auto i = static_cast<std::size_t>(l);
    const auto source = static_cast<std::size_t>(ptx_source(kind, l, operand[i], width));
    ASSERT_EQ(out[i], has(mask, l) ? in[source] : T{77})
        << "kind " << static_cast<int>(kind) << " mask " << std::hex << mask << std::dec
        << " width " << width << " lane " << l << " operand " << operand[i];
  }
}

TEST_P(WarpConformance, ShuffleOfEveryKindWidthAndMask) {
  for (Shuffle kind : {Shuffle::kIndex, Shuffle::kUp, Shuffle::kDown, Shuffle::kXor}) {
    for (int width : {1, 2, 4, 8, 16, 32}) {
      for (int operand = 0; operand < 32; operand += 3) {
        check_shuffle<std::uint32_t>(kind, 0xffffffffu, width, std::vector<int>(32, operand), 5);
      }
      for (std::uint32_t mask : kMasks) {
        std::vector<int> operands;
        for (std::uint64_t l = 0; l < 32; ++l) {
          operands.push_back(static_cast<int>(random(mask, l) % 64));  // only 5 bits count
        }
        check_shuffle<std::uint32_t>(kind, mask, width, operands, 3);
        check_shuffle<double>(kind, mask, width, operands, 0.25);
      }
    }
  }
}

TEST_P(WarpConformance, VotesOfEveryMask) {
  for (std::uint32_t mask : kMasks) {
    for (std::uint32_t set : {0u, 0xffffffffu, mask, ~mask, 0x00ff00ffu, 1u, 0x80000000u}) {
      Shared<int> predicate(32);
      for (int l = 0; l < 32; ++l) predicate[static_cast<std::size_t>(l)] = has(set, l) ? l + 4 : 0;
      const std::uint32_t want[] = {set & mask, (set & mask) != 0, (set & mask) == mask};
      for (Vote kind : {Vote::kBallot, Vote::kAny, Vote::kAll}) {
        Shared<std::uint32_t> out(32);
        out.fill(kUntouched);
        kernels::vote(kind, mask, predicate.data(), out.data());
        finish();
        for (int l = 0; l < 32; ++l) {
          ASSERT_EQ(out[static_cast<std::size_t>(l)],
                    has(mask, l) ? want[static_cast<int>(kind)] : kUntouched)
              << "kind " << static_cast<int>(kind) << " mask " << mask << " set " << set;
        }
      }
    }
  }
}

template <class T>
T reduced(Reduce kind, std::uint32_t mask, Shared<T>& in) {
  std::vector<T> values;
  for (int l = 0; l < 32; ++l) {
    if (has(mask, l)) values.push_back(in[static_cast<std::size_t>(l)]);
  }
  if (kind == Reduce::kMax) return *std::max_element(values.begin(), values.end());
  if (kind == Reduce::kMin) return *std::min_element(values.begin(), values.end());
  std::uint32_t sum = 0;  // modulo 2^32
  for (T v : values) sum += static_cast<std::uint32_t>(v);
  return static_cast<T>(sum);
}

template <class T>
void check_reduce(std::uint32_t mask, const std::vector<std::uint32_t>& bits) {
  Shared<T> in(32), out(32);
  for (std::size_t l = 0; l < 32; ++l) in[l] = static_cast<T>(bits[l]);
  for (Reduce kind : {Reduce::kAdd, Reduce::kMax, Reduce::kMin}) {
    out.fill(static_cast<T>(kUntouched));
    kernels::reduce(kind, mask, in.data(), out.data());
    memory::backend::synchronize();
    const T want = reduced(kind, mask, in);
    for (int l = 0; l < 32; ++l) {
      ASSERT_EQ(out[static_cast<std::size_t>(l)], has(mask, l) ? want : static_cast<T>(kUntouched))
          << "kind " << static_cast<int>(kind) << " mask " << mask << " lane " << l;
    }
  }
}

TEST_P(WarpConformance, ReductionsOfIntegersWrapAndRespectTheSign) {
  for (std::uint32_t mask : kMasks) {
    std::vector<std::uint32_t> bits;
    for (std::uint64_t l = 0; l < 32; ++l) bits.push_back(random(40, l));
    check_reduce<int>(mask, bits);
    check_reduce<unsigned>(mask, bits);
  }
}

template <class T>
void check_match(std::uint32_t mask, int distinct) {
  Shared<T> in(32);
  Shared<std::uint32_t> out(32);
  for (std::size_t l = 0; l < 32; ++l) {
    in[l] = static_cast<T>((l * 7 + l / 5) % static_cast<std::size_t>(distinct))
            << (sizeof(T) * 8 - 9);
  }
  out.fill(kUntouched);
  kernels::match(mask, in.data(), out.data());
  memory::backend::synchronize();
  for (int l = 0; l < 32; ++l) {
    std::uint32_t want = kUntouched;
    if (has(mask, l)) {
      want = 0;
      for (int other = 0; other < 32; ++other) {
        const bool same = in[static_cast<std::size_t>(other)] == in[static_cast<std::size_t>(l)];
        if (has(mask, other) && same) want |= 1u << other;
      }
    }
    ASSERT_EQ(out[static_cast<std::size_t>(l)], want) << "mask " << mask << " lane " << l;
  }
}

TEST_P(WarpConformance, MatchFindsTheLanesOfEqualBits) {
  for (std::uint32_t mask : kMasks) {
    for (int distinct : {1, 2, 5, 32}) {
      check_match<std::uint32_t>(mask, distinct);
      check_match<unsigned long long>(mask, distinct);
    }
  }
}

TEST_P(WarpConformance, SyncwarpOrdersSharedMemory) {
  Shared<int> in(32), out(32);
  for (int l = 0; l < 32; ++l) in[static_cast<std::size_t>(l)] = 3 * l;
  kernels::reverse(in.data(), out.data());
  finish();
  for (std::size_t l = 0; l < 32; ++l) EXPECT_EQ(out[l], in[31 - l]);
}

TEST_P(WarpConformance, TilesOfEverySizeStayAmongThemselves) {
  Shared<int> in(32), out(32 * 4);
  for (std::uint64_t l = 0; l < 32; ++l) in[l] = static_cast<int>(random(50, l) % 9);
  for (int n : {1, 2, 4, 8, 16, 32}) {
    kernels::tiles(n, in.data(), out.data());
    finish();
    for (int l = 0; l < 32; ++l) {
      const int first = l / n * n;
      int sum = 0, largest = 0, odd = 0, sevens = 0;
      for (int i = first; i < first + n; ++i) {
        const int v = in[static_cast<std::size_t>(i)];
        sum += v;
        largest = std::max(largest, v);
        odd |= (v % 2) << (i - first);
        sevens += v == 7;
      }
      const int* got = out.data() + l * 4;
      EXPECT_EQ(got[0], sum) << "tile of " << n << ", lane " << l;
      EXPECT_EQ(got[1], largest);
      EXPECT_EQ(got[2], l - first + (sevens > 0 ? 100 : 0) + (sevens == 0 ? 1000 : 0));
      EXPECT_EQ(got[3], odd);
    }
  }
}

}  // namespace
}  // namespace octavo::simt::conformance
