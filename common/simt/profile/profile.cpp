#include "common/simt/profile/profile.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "common/base/counted.h"
#include "common/simt/profile/recorder.h"

namespace octavo::simt {
namespace {

using profile::Costs;

void add_to_totals(Counters& c, const SiteProfile& site) {
  if (site.space == cpu::Space::kShared) {
    c.shared_wavefronts += site.cost;
    return;
  }
  c.global_sectors += site.cost;
  if (site.kind != AccessKind::kStore) c.global_read_bytes += site.bytes;
  if (site.kind == AccessKind::kStore || site.kind == AccessKind::kAtomic)
    c.global_write_bytes += site.bytes;
}

auto order_of(const SiteProfile& s) {
  return std::tie(s.file, s.line, s.kind, s.space, s.bytes_per_lane);
}

// Places by file and line; those of one line, kind and width become one site.
std::vector<SiteProfile> make_sites(const Costs& costs) {
  std::vector<std::uintptr_t> addresses;
  for (const auto& [place, cost] : costs) {
    if (place.line == 0)
      addresses.push_back(cpu::offset_in_program(reinterpret_cast<const void*>(place.where)));
  }
  const std::vector<profile::SourceLine> lines = profile::source_lines(addresses);
  std::vector<SiteProfile> sites;
  std::size_t next = 0;
  for (const auto& [place, cost] : costs) {
    SiteProfile site;
    if (place.line == 0) {
      site.file = lines[next].file;
      site.line = lines[next++].line;
    } else {
      const char* path = reinterpret_cast<const char*>(place.where);
      const char* slash = std::strrchr(path, '/');
      site.file = slash != nullptr ? slash + 1 : path;
      site.line = place.line;
    }
    site.kind = place.kind;
    site.space = place.space;
    site.bytes_per_lane = place.bytes;
    const auto same = std::find_if(sites.begin(), sites.end(), [&](const SiteProfile& s) {
      return order_of(s) == order_of(site);
    });
    SiteProfile& into = same != sites.end() ? *same : sites.emplace_back(site);
    into.requests += cost.requests;
    into.cost += cost.cost;
    into.ideal += cost.ideal;
    into.bytes += cost.bytes;
  }
  std::sort(sites.begin(), sites.end(),
            [](const SiteProfile& a, const SiteProfile& b) { return order_of(a) < order_of(b); });
  return sites;
}

}  // namespace

struct Profiler::Impl : cpu::LaunchObserver {
  struct Kernel {
    const void* address;
    Counters counters;
    Costs costs;
  };
  std::vector<std::unique_ptr<Kernel>> kernels;
  profile::Recorder recorder;
  std::optional<Sample> sample;  // none: whole grids

  // of the launch that runs
  Kernel* current = nullptr;
  bool samples = false;
  std::uint64_t blocks = 0, blocks_run = 0, accesses_before = 0;
  Costs costs;

  bool launch_begins(const cpu::LaunchRequest& request) override {
    const auto known = std::find_if(kernels.begin(), kernels.end(),
                                    [&](const auto& k) { return k->address == request.kernel; });
    if (known != kernels.end()) {
      current = known->get();
    } else {
      kernels.push_back(std::make_unique<Kernel>(Kernel{request.kernel, {}, {}}));
      current = kernels.back().get();
    }
    samples = sample.has_value() && !request.needs_whole_grid;
    blocks = std::uint64_t{request.grid.x} * request.grid.y * request.grid.z;
    blocks_run = 0;
    accesses_before = recorder.accesses();
    costs.clear();
    recorder.begin_kernel(&costs);
    return samples;
  }

  bool block_ended() override {
    recorder.block_ended();
    ++blocks_run;
    return !samples || blocks_run < sample->blocks ||
           recorder.accesses() - accesses_before < sample->accesses;
  }

  void launch_ended(const LaunchStats& stats) override {
    const auto scaled = [this](std::uint64_t n) {
      return (n * blocks + blocks_run / 2) / blocks_run;
    };
    Counters& c = current->counters;
    c.launches++;
    c.blocks += blocks;
    c.blocks_run += stats.blocks;
    c.threads += scaled(stats.threads);
    c.warp_operations += scaled(stats.warp_operations);
    c.barriers += scaled(stats.barriers);
    c.mma += scaled(stats.mma);
    c.mma_flops += scaled(stats.mma_flops);
    for (const auto& [place, cost] : costs) {
      profile::Cost& total = current->costs[place];
      total.requests += scaled(cost.requests);
      total.cost += scaled(cost.cost);
      total.ideal += scaled(cost.ideal);
      total.bytes += scaled(cost.bytes);
    }
  }
};

Profiler::Profiler(std::optional<Sample> sample) : impl_(std::make_unique<Impl>()) {
  require(profile::recorder == nullptr, "simt: another profiler is listening");
  require(!sample || sample->blocks >= 1, "simt: a sample of {}, must be at least 1",
          counted(sample ? sample->blocks : 0, "block"));
  impl_->sample = sample;
  profile::recorder = &impl_->recorder;
  cpu::observe_launches(impl_.get());
}

Profiler::~Profiler() {
  cpu::observe_launches(nullptr);
  profile::recorder = nullptr;
}

std::vector<KernelProfile> Profiler::kernels() const {
  std::vector<KernelProfile> list;
  for (const auto& kernel : impl_->kernels) {
    KernelProfile p{cpu::function_name(kernel->address), kernel->counters,
                    make_sites(kernel->costs)};
    for (const SiteProfile& site : p.sites) add_to_totals(p.counters, site);
    list.push_back(std::move(p));
  }
  return list;
}

std::string_view name_of(AccessKind kind) {
  constexpr std::string_view kNames[] = {"load",     "store",         "atomic",
                                         "ldmatrix", "cp.async from", "cp.async to"};
  return kNames[static_cast<int>(kind)];
}

std::string to_text(const KernelProfile& profile) {
  const Counters& c = profile.counters;
  std::string text = fmt::format("{}\n", profile.kernel);
  text += fmt::format("  {}, {}, {}, {}, {} of which {} mma\n",
                      counted(c.launches, "launch", "launches"), counted(c.blocks, "block"),
                      counted(c.threads, "thread"), counted(c.barriers, "barrier"),
                      counted(c.warp_operations, "warp operation"), c.mma);
  if (c.blocks_run < c.blocks)
    text += fmt::format("  scaled up from the {} that ran\n", counted(c.blocks_run, "block"));
  text +=
      fmt::format("  global memory: {} read, {} written, {}; shared memory: {}\n",
                  counted(c.global_read_bytes, "byte"), c.global_write_bytes,
                  counted(c.global_sectors, "sector"), counted(c.shared_wavefronts, "wavefront"));
  const auto place_of = [](const SiteProfile& s) { return fmt::format("{}:{}", s.file, s.line); };
  std::size_t width = 20;
  for (const SiteProfile& s : profile.sites) width = std::max(width, place_of(s).size());
  text += fmt::format("  {:<{}} {:<7} {:<13} {:>6} {:>9} {:>9} {:>9} {:>8}\n", "site", width,
                      "memory", "access", "B/lane", "requests", "cost", "ideal", "x ideal");
  for (const SiteProfile& s : profile.sites) {
    const bool shared = s.space == cpu::Space::kShared;
    text += fmt::format("  {:<{}} {:<7} {:<13} {:>6} {:>9} {:>9} {:>9} {:>8.2f}\n", place_of(s),
                        width, shared ? "shared" : "global", name_of(s.kind), s.bytes_per_lane,
                        s.requests, s.cost, s.ideal, s.ratio());
  }
  return text;
}

}  // namespace octavo::simt
