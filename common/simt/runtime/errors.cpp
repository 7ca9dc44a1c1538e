// What a kernel's mistake looks like to its author.

#include <cstring>

#include "common/simt/runtime/state.h"

namespace octavo::simt::cpu {
namespace {

std::string state_of(const Thread& t) {
  switch (t.state) {
    case State::kFresh:
      return "not started";
    case State::kReturned:
      return "returned";
    case State::kInBarrier:
    case State::kInWarpOp:
      return fmt::format("waiting in {} at {}", t.doing, text_of(t.site));
    case State::kReady:
      break;
  }
  if (*t.doing == '\0') return "running, before any barrier or warp operation";
  return fmt::format("running, past {} at {}", t.doing, text_of(t.site));
}

// One line for each run of threads that do the same, the running one apart.
std::string describe_block(const Worker* w, const Thread* me) {
  constexpr int kLines = 8;
  std::string text;
  int lines = 0;
  for (int i = 0; i < w->size;) {
    if (&w->threads[i] == me) {
      ++i;
      continue;
    }
    const std::string state = state_of(w->threads[i]);
    int last = i;
    while (last + 1 < w->size && &w->threads[last + 1] != me &&
           state_of(w->threads[last + 1]) == state)
      ++last;
    if (++lines > kLines) return text + "\n    ...";
    text += last == i ? fmt::format("\n    thread {}: {}", i, state)
                      : fmt::format("\n    threads {} to {}: {}", i, last, state);
    i = last + 1;
  }
  return text;
}

}  // namespace

std::string text_of(const Index3& i) { return fmt::format("({},{},{})", i.x, i.y, i.z); }

std::string text_of(CallSite site) {
  const char* slash = std::strrchr(site.file, '/');
  return fmt::format("{}:{}", slash != nullptr ? slash + 1 : site.file, site.line);
}

void record_error(const std::string& message, CallSite site) {
  Worker* w = this_worker;
  if (w->failed) return;
  const Thread* me = running();
  std::string kernel = function_name(w->grid->request.kernel);
  if (kernel.empty()) kernel = "(its name is not in the program's symbol table)";
  w->error = fmt::format("simt: {}", message);
  if (site.line != 0) w->error += fmt::format("\n  at {}", text_of(site));
  w->error += fmt::format("\n  kernel {}, launched at {}", kernel, text_of(w->grid->request.site));
  w->error +=
      fmt::format("\n  block {}, thread {}: thread {} of the block, lane {} of warp {}",
                  text_of(me->block), text_of(me->thread), me->linear, me->lane, me->linear / 32);
  if (w->size > 1) w->error += "\n  the block's other threads, by number:" + describe_block(w, me);
  w->error += fmt::format("\n  to repeat: OCTAVO_SIMT_SCHEDULE={} OCTAVO_SIMT_SEED={}",
                          name_of(w->options.schedule), w->options.seed);
  w->error_block = me->block;
  w->error_thread = me->thread;
  w->failed = true;
  release(w->end_tag);
}

void fail(const std::string& message, CallSite site) {
  if (this_worker == nullptr || current_thread == nullptr) throw KernelError("simt: " + message);
  record_error(message, site.line != 0 ? site : running()->site);
  throw Unwind{};
}

void fail(std::initializer_list<Piece> message, CallSite site) {
  std::string text;
  for (const Piece& p : message) {
    if (p.text != nullptr) {
      text += p.text;
    } else if (p.digits > 0) {
      text += fmt::format("0x{:0{}x}", static_cast<unsigned long>(p.number), p.digits);
    } else {
      text += std::to_string(p.number);
    }
  }
  fail(text, site);
}

}  // namespace octavo::simt::cpu
