#pragma once
// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3" (SC 2011). A draw is a pure function of (key, counter): it does not
// depend on what was drawn before.

#include <array>
#include <cstdint>

namespace octavo {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

// 128 random bits for this counter under this key.
constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// What a random number is for; two purposes at one position never share bits.
enum class Purpose : std::uint32_t {
  kSample = 0,
  kAccept = 1,
  kResidual = 2,
  kDraft = 3,
  kTest = 4
};

// Uniform in [0, 1) with 24 bits, keyed by (seed, sample index, position, purpose, draw): the same
// whichever other sequences run beside it, and different for each of the n samples of one request.
// Wants draw < 2^16.
constexpr float uniform(std::uint64_t seed, std::uint32_t sample_index, std::uint64_t position,
                        Purpose purpose, std::uint32_t draw = 0) {
  const PhiloxCounter bits =
      philox({static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32),
              sample_index, (static_cast<std::uint32_t>(purpose) << 16) | draw},
             {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return static_cast<float>(bits[0] >> 8) * 0x1p-24f;
}

}  // namespace octavo
