#include "common/simt/runtime/context.h"

#include <cstdint>

namespace octavo::simt::cpu {

#if defined(OCTAVO_SIMT_UCONTEXT)

namespace {

// makecontext passes ints only: two pointers travel as four halves.
void start(unsigned entry_high, unsigned entry_low, unsigned argument_high, unsigned argument_low) {
  const auto join = [](unsigned high, unsigned low) {
    return static_cast<std::uintptr_t>(std::uint64_t{high} << 32 | low);
  };
  auto* entry = reinterpret_cast<void (*)(void*)>(join(entry_high, entry_low));
  entry(reinterpret_cast<void*>(join(argument_high, argument_low)));
}

}  // namespace

void make_context(Context& context, void* stack, std::size_t bytes, void (*entry)(void*),
                  void* argument) {
  getcontext(&context.state);
  context.state.uc_stack.ss_sp = stack;
  context.state.uc_stack.ss_size = bytes;
  context.state.uc_link = nullptr;
  const std::uint64_t e = reinterpret_cast<std::uintptr_t>(entry);
  const std::uint64_t a = reinterpret_cast<std::uintptr_t>(argument);
  makecontext(&context.state, reinterpret_cast<void (*)()>(start), 4,
              static_cast<unsigned>(e >> 32), static_cast<unsigned>(e),
              static_cast<unsigned>(a >> 32), static_cast<unsigned>(a));
}

#elif defined(__x86_64__)

// System V ABI: a callee preserves rbp, rbx, r12 to r15 and the control words of SSE and x87.
asm(R"(
.text
.globl octavo_simt_switch
.type octavo_simt_switch,@function
octavo_simt_switch:
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $8, %rsp
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  ldmxcsr (%rsp)
  fldcw 4(%rsp)
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size octavo_simt_switch,.-octavo_simt_switch
.globl octavo_simt_start
.type octavo_simt_start,@function
octavo_simt_start:
  endbr64
  movq %r12, %rdi
  callq *%rbx
  ud2
.size octavo_simt_start,.-octavo_simt_start
)");
extern "C" void octavo_simt_start();

void make_context(Context& context, void* stack, std::size_t bytes, void (*entry)(void*),
                  void* argument) {
  const std::uintptr_t top =
      (reinterpret_cast<std::uintptr_t>(stack) + bytes) & ~std::uintptr_t{15};
  void** sp = reinterpret_cast<void**>(top);
  *--sp = nullptr;  // two words: rsp is a multiple of 16 at the call in octavo_simt_start
  *--sp = nullptr;
  *--sp = reinterpret_cast<void*>(&octavo_simt_start);  // return address
  *--sp = nullptr;                                      // rbp
  *--sp = reinterpret_cast<void*>(entry);               // rbx
  *--sp = argument;                                     // r12
  *--sp = nullptr;                                      // r13
  *--sp = nullptr;                                      // r14
  *--sp = nullptr;                                      // r15
  auto* control = reinterpret_cast<std::uint32_t*>(--sp);
  control[0] = 0x1f80;  // mxcsr and x87 control word: round to nearest, all exceptions masked
  control[1] = 0x037f;
  context.stack_pointer = sp;
}

#elif defined(__aarch64__)

// AAPCS64: a callee preserves x19 to x30 and the lower halves of v8 to v15.
asm(R"(
.text
.globl octavo_simt_switch
octavo_simt_switch:
  sub sp, sp, #160
  stp d8, d9, [sp, #0]
  stp d10, d11, [sp, #16]
  stp d12, d13, [sp, #32]
  stp d14, d15, [sp, #48]
  stp x19, x20, [sp, #64]
  stp x21, x22, [sp, #80]
  stp x23, x24, [sp, #96]
  stp x25, x26, [sp, #112]
  stp x27, x28, [sp, #128]
  stp x29, x30, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp d8, d9, [sp, #0]
  ldp d10, d11, [sp, #16]
  ldp d12, d13, [sp, #32]
  ldp d14, d15, [sp, #48]
  ldp x19, x20, [sp, #64]
  ldp x21, x22, [sp, #80]
  ldp x23, x24, [sp, #96]
  ldp x25, x26, [sp, #112]
  ldp x27, x28, [sp, #128]
  ldp x29, x30, [sp, #144]
  add sp, sp, #160
  ret
.globl octavo_simt_start
octavo_simt_start:
  mov x0, x20
  blr x19
  brk #0
)");
extern "C" void octavo_simt_start();

void make_context(Context& context, void* stack, std::size_t bytes, void (*entry)(void*),
                  void* argument) {
  const std::uintptr_t top =
      (reinterpret_cast<std::uintptr_t>(stack) + bytes) & ~std::uintptr_t{15};
  void** sp = reinterpret_cast<void**>(top - 160);
  for (int i = 0; i < 20; ++i) sp[i] = nullptr;
  sp[8] = reinterpret_cast<void*>(entry);                // x19
  sp[9] = argument;                                      // x20
  sp[19] = reinterpret_cast<void*>(&octavo_simt_start);  // x30, where `ret` goes
  context.stack_pointer = sp;
}

#endif

}  // namespace octavo::simt::cpu
