#include "common/simt/profile/recorder.h"

#include <algorithm>

extern "C" char __executable_start, _end;  // the linker's: the program's code and static data

namespace octavo::simt::profile {

Recorder* recorder = nullptr;

namespace {

constexpr std::size_t kThreads = 1024, kWarps = 32;  // of a block, at most

bool in_program(const void* p) {
  return p >= static_cast<const void*>(&__executable_start) && p < static_cast<const void*>(&_end);
}

// Bytes that the lanes touch, those touched by several counted once.
std::uint64_t distinct_bytes(const Request& r) {
  std::pair<std::uintptr_t, std::uintptr_t> spans[32];
  int n = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (r.mask >> lane & 1) spans[n++] = {r.address[lane], r.address[lane] + r.bytes[lane]};
  }
  std::sort(spans, spans + n);
  std::uint64_t sum = 0;
  std::uintptr_t end = 0;
  for (int i = 0; i < n; ++i) {
    const std::uintptr_t begin = std::max(end, spans[i].first);
    if (spans[i].second > begin) sum += spans[i].second - begin;
    end = std::max(end, spans[i].second);
  }
  return sum;
}

std::uint64_t count_sectors(const Request& r) {
  std::uintptr_t sectors[64];
  int n = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (!(r.mask >> lane & 1)) continue;
    const std::uintptr_t first = r.address[lane] / 32,
                         last = (r.address[lane] + r.bytes[lane] - 1) / 32;
    sectors[n++] = first;
    if (last != first) sectors[n++] = last;
  }
  std::sort(sectors, sectors + n);
  return static_cast<std::uint64_t>(std::unique(sectors, sectors + n) - sectors);
}

// Most different words of one bank that the `lanes` lanes from `first` on ask for; 0 when none of
// them asks.
std::uint64_t count_wavefronts(const Request& r, int first, int lanes) {
  std::uintptr_t words[32][64];  // of each bank
  int count[32] = {};
  for (int lane = first; lane < first + lanes; ++lane) {
    if (!(r.mask >> lane & 1)) continue;
    const std::uintptr_t end = (r.address[lane] + r.bytes[lane] + 3) / 4;
    for (std::uintptr_t word = r.address[lane] / 4; word < end; ++word) {
      std::uintptr_t* bank = words[word % 32];
      int& n = count[word % 32];
      if (std::find(bank, bank + n, word) == bank + n) bank[n++] = word;
    }
  }
  return static_cast<std::uint64_t>(*std::max_element(count, count + 32));
}

}  // namespace

Cost cost_of(const Request& r, cpu::Space space, int bytes_per_lane) {
  Cost c{1, 0, 0, distinct_bytes(r)};
  if (space == cpu::Space::kGlobal) {
    c.cost = count_sectors(r);
    c.ideal = (c.bytes + 31) / 32;
    return c;
  }
  const int lanes = bytes_per_lane <= 4   ? 32
                    : bytes_per_lane == 8 ? 16
                                          : 8;  // that one wavefront can serve
  for (int first = 0; first < 32; first += lanes) {
    const std::uint64_t wavefronts = count_wavefronts(r, first, lanes);
    c.cost += wavefronts;
    if (wavefronts != 0) ++c.ideal;
  }
  return c;
}

void Recorder::access(std::uintptr_t where, int line, AccessKind kind, const void* address,
                      int bytes, int full_bytes) {
  const cpu::Space space = cpu::space_of(address);
  if (space != cpu::Space::kShared && (space != cpu::Space::kGlobal || in_program(address))) return;
  ++accesses_;
  Log& log = logs_[{where, line, kind, space, full_bytes}];
  if (log.warps.empty()) {
    log.warps.resize(kWarps);
    log.executions.resize(kThreads);
  }
  const unsigned thread = cpu::current_thread->linear, lane = cpu::current_thread->lane;
  const std::uint32_t execution = log.executions[thread]++;
  std::vector<Request>& requests = log.warps[thread / 32];
  if (execution >= requests.size()) requests.resize(execution + 1);
  Request& r = requests[execution];
  r.address[lane] = reinterpret_cast<std::uintptr_t>(address);
  r.bytes[lane] = static_cast<std::uint8_t>(bytes);
  r.mask |= 1u << lane;
}

void Recorder::block_ended() {
  for (auto& [place, log] : logs_) {
    Cost* total = nullptr;
    for (std::vector<Request>& requests : log.warps) {
      for (const Request& r : requests) {
        if (r.mask == 0) continue;
        if (total == nullptr) total = &(*totals_)[place];
        const Cost c = cost_of(r, place.space, place.bytes);
        total->requests += c.requests;
        total->cost += c.cost;
        total->ideal += c.ideal;
        total->bytes += c.bytes;
      }
      requests.clear();
    }
    std::fill(log.executions.begin(), log.executions.end(), 0u);
  }
}

}  // namespace octavo::simt::profile
