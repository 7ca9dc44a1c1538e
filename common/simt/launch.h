#pragma once
// launch(kernel, config, stream, arguments...): a launch whose geometry is a LaunchConfig, which a
// pure host function computed and a test can check. For kernels that are versions of a topic.
// Throws Error for a geometry that is none (check_geometry).

#include <utility>

#include "common/device/launch_config.h"
#include "common/device/stream.h"
#include "common/simt/simt.h"

namespace octavo::simt {
inline namespace SIMT_FLAVOUR {

#if SIMT_GPU
using ConfigAtSite = const LaunchConfig&;
#else
struct ConfigAtSite {  // and the line of the launch, which the executor's messages name
  const LaunchConfig& config;
  cpu::CallSite launched_at;
  ConfigAtSite(const LaunchConfig& c, SIMT_SITE) : config(c), launched_at(site) {}
};
#endif

template <class... P, class... A>
void launch(void (*kernel)(P...), ConfigAtSite at, Stream& stream, A&&... arguments) {
#if SIMT_GPU
  const LaunchConfig& c = at;
#else
  const LaunchConfig& c = at.config;
#endif
  check_geometry(c);
  const auto extent = [](const Extent3& e) {
    return dim3(static_cast<unsigned>(e.x), static_cast<unsigned>(e.y), static_cast<unsigned>(e.z));
  };
#if SIMT_GPU
  const dim3 grid = extent(c.grid);
#else
  GridAtSite grid(extent(c.grid), at.launched_at);
  grid.needs_whole_grid = c.needs_whole_grid;
#endif
  launch(kernel, grid, extent(c.block), static_cast<std::size_t>(c.shared_bytes),
         static_cast<stream_t>(stream.native()), std::forward<A>(arguments)...);
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::simt
