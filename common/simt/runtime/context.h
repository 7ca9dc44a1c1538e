#pragma once
// The bare switch between two stacks. On x86-64 and aarch64 it is a dozen instructions of our own,
// which save what a called function must preserve (5 to 9 ns); elsewhere, or with
// -DOCTAVO_SIMT_UCONTEXT, it is swapcontext, which also makes a system call for the signal mask (1
// us).

#include <cstddef>

#if !defined(OCTAVO_SIMT_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define OCTAVO_SIMT_UCONTEXT 1
#endif

#if defined(OCTAVO_SIMT_UCONTEXT)
#include <ucontext.h>
#endif

namespace octavo::simt::cpu {

#if defined(OCTAVO_SIMT_UCONTEXT)
struct Context {
  ucontext_t state;
};
inline void switch_context(Context& from, Context& to) { swapcontext(&from.state, &to.state); }
#else
struct Context {
  void* stack_pointer;
};
extern "C" void octavo_simt_switch(void** save_stack_pointer, void* load_stack_pointer);
inline void switch_context(Context& from, Context& to) {
  octavo_simt_switch(&from.stack_pointer, to.stack_pointer);
}
#endif

// Makes a context that, when first switched to, calls entry(argument) on this stack. `entry` must
// not return.
void make_context(Context& context, void* stack, std::size_t bytes, void (*entry)(void*),
                  void* argument);

}  // namespace octavo::simt::cpu
