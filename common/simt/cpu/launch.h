#pragma once
// launch(kernel, grid, block, shared_bytes, stream, args...): runs every block before it returns.

#include <tuple>
#include <utility>

#include "common/simt/cpu/number_types.h"
#include "common/simt/cpu/runtime.h"

namespace octavo::simt {
inline namespace SIMT_FLAVOUR {

// The launch's dynamic shared memory, aligned to 1024 bytes.
template <class T>
T* dynamic_shared() {
  return static_cast<T*>(cpu::dynamic_slot());
}

// A grid's extents, the line of the launch, and what a LaunchConfig says besides.
struct GridAtSite {
  dim3 extent;
  cpu::CallSite launched_at;
  bool needs_whole_grid = false;
  GridAtSite(dim3 e, SIMT_SITE) : extent(e), launched_at(site) {}
  template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
  GridAtSite(I x, SIMT_SITE) : extent(static_cast<unsigned>(x)), launched_at(site) {}
};

template <class... P>
struct KernelCall {
  void (*kernel)(P...);
  std::tuple<std::decay_t<P>...> arguments;

  template <std::size_t... I>
  SIMT_UNSEEN static void call(KernelCall& c, std::index_sequence<I...>) {
    c.kernel(std::get<I>(c.arguments)...);  // by value: each thread has its own copy
  }
  static void run(void* self) {
    call(*static_cast<KernelCall*>(self), std::index_sequence_for<P...>{});
  }
};

template <class... P, class... A>
void launch(void (*kernel)(P...), GridAtSite grid, dim3 block, std::size_t shared_bytes, stream_t,
            A&&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "the kernel takes a different number of arguments");
  KernelCall<P...> c{kernel, {static_cast<P>(arguments)...}};
  cpu::run_grid({.grid = {grid.extent.x, grid.extent.y, grid.extent.z},
                 .block = {block.x, block.y, block.z},
                 .shared_bytes = shared_bytes,
                 .kernel = reinterpret_cast<const void*>(kernel),
                 .site = grid.launched_at,
                 .body = KernelCall<P...>::run,
                 .argument = &c,
                 .needs_whole_grid = grid.needs_whole_grid});
}

// Sets a __constant__ variable from host memory.
template <class T>
void set_constant(T& symbol, const std::type_identity_t<T>& value) {
  std::memcpy(static_cast<void*>(&symbol), &value, sizeof(T));
}

}  // namespace SIMT_FLAVOUR
}  // namespace octavo::simt
