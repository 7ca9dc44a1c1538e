#pragma once
// Collects the accesses of one block into requests of its warps, and counts what they cost.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/simt/cpu/access.h"

namespace octavo::simt::profile {

// The accesses of the lanes of one warp that belong together.
struct Request {
  std::uintptr_t address[32];
  std::uint8_t bytes[32];
  std::uint32_t mask = 0;
};

// Where an access stands: an address in the program (line 0), or a line of a source file.
struct Place {
  std::uintptr_t where;  // program counter, or the file's name as a const char*
  int line;
  AccessKind kind;
  cpu::Space space;
  int bytes;  // a lane
  bool operator==(const Place&) const = default;
};

struct PlaceHash {
  std::size_t operator()(const Place& p) const {
    std::size_t h = p.where * 31 + static_cast<std::size_t>(p.line);
    h = h * 31 + static_cast<std::size_t>(p.kind) * 4 + static_cast<std::size_t>(p.space);
    return ((h * 31 + static_cast<std::size_t>(p.bytes)) * 0x9E3779B97F4A7C15ull) >> 7;
  }
};

struct Cost {
  std::uint64_t requests = 0, cost = 0, ideal = 0, bytes = 0;  // as in SiteProfile
};
using Costs = std::unordered_map<Place, Cost, PlaceHash>;

// What one request costs: sectors of 32 bytes in global memory, wavefronts in shared memory.
Cost cost_of(const Request& request, cpu::Space space, int bytes_per_lane);

class Recorder {
 public:
  // An access of the running thread to `bytes` bytes, where a whole one has `full_bytes`. Accesses
  // to its stack and to the program's own data (constants) are ignored.
  void access(std::uintptr_t where, int line, AccessKind kind, const void* address, int bytes,
              int full_bytes);

  void begin_kernel(Costs* totals) { totals_ = totals; }  // borrowed until the next kernel begins
  void block_ended();                                     // turns the block's requests into costs
  std::uint64_t accesses() const { return accesses_; }    // recorded so far

 private:
  struct Log {  // of one place, in the block that runs
    std::vector<std::vector<Request>> warps;
    std::vector<std::uint32_t> executions;  // of each thread
  };
  std::unordered_map<Place, Log, PlaceHash> logs_;
  Costs* totals_ = nullptr;
  std::uint64_t accesses_ = 0;
};

extern Recorder* recorder;  // that the hooks report to; null: nobody listens

struct SourceLine {
  std::string file;  // without folders; "" where it is not known
  int line = 0;
};
// One for each address in what `addr2line -a -i` prints: a line with the address, then file:line of
// the innermost inlined function, of the function it was inlined into, and so on. It is the first
// that has a line and is no helper that stands for its caller.
std::vector<SourceLine> parse_addr2line(std::string_view text);
// Of addresses in the program, as offset_in_program counts them, in the same order.
std::vector<SourceLine> source_lines(const std::vector<std::uintptr_t>& addresses);

}  // namespace octavo::simt::profile
