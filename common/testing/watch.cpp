#include "common/testing/watch.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/simt/cpu/runtime.h"

namespace octavo::testing {
namespace {

constexpr int kSignals[] = {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::size_t kStack = 64 * 1024;  // of the handler: a thread may have used up its own

char part[256] = "";  // a copy, since a handler may not allocate
int limit = 0;
struct sigaction before[std::size(kSignals)];
std::vector<char> stack;

// A message put together without the heap, which the crash may have spoilt.
class Text {
 public:
  Text& operator<<(std::string_view s) {
    const std::size_t n = std::min(s.size(), sizeof(text_) - used_);
    std::memcpy(text_ + used_, s.data(), n);
    used_ += n;
    return *this;
  }
  Text& operator<<(unsigned n) {
    char digits[16];
    return *this << std::string_view(digits, std::to_chars(digits, std::end(digits), n).ptr);
  }
  Text& operator<<(const simt::Index3& i) {
    return *this << "(" << i.x << "," << i.y << "," << i.z << ")";
  }
  void print() const {
    for (std::size_t at = 0; at < used_;) {
      const ssize_t n = write(STDOUT_FILENO, text_ + at, used_ - at);
      if (n <= 0) return;
      at += static_cast<std::size_t>(n);
    }
  }

 private:
  char text_[1024];
  std::size_t used_ = 0;
};

std::string_view words_of(int signal) {
  switch (signal) {
    case SIGFPE:
      return "the run crashed: a whole number was divided by zero";
    case SIGILL:
      return "the run crashed: it came to an instruction that is none";
    case SIGABRT:
      return "the run was aborted: an exception that nobody caught, an assertion, or memory "
             "outside "
             "of the operands that was written and turned out to be somebody's";
    default:
      return "the run crashed: something was read or written that is no memory of this program, "
             "outside of the operands by far, or the stack of a thread was used up";
  }
}

void say_and_leave(int signal) {
  Text text;
  text << "\nNot yet: ";
  if (signal == SIGALRM) {
    text << "after " << static_cast<unsigned>(limit)
         << " seconds the run has not come to an end. Is there a loop that never ends?";
  } else {
    text << words_of(signal) << ".";
  }
  text << "\n  It was " << part;
  if (const simt::cpu::ThreadView* const t = simt::cpu::current_thread) {
    text << ", in block " << t->block << ", thread " << t->thread;
  }
  text << ".\n";
  text.print();
  _exit(1);
}

}  // namespace

Watch::Watch(int seconds) : seconds_(seconds) {
  require(seconds >= 1, "watch: {} seconds", seconds);
  limit = seconds;
  stack.resize(kStack);
  stack_t own = {};
  own.ss_sp = stack.data();
  own.ss_size = stack.size();
  sigaltstack(&own, nullptr);
  struct sigaction action = {};
  action.sa_handler = say_and_leave;
  action.sa_flags = SA_ONSTACK;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &before[i]);
}

Watch::~Watch() {
  alarm(0);
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &before[i], nullptr);
  }
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

void Watch::begins(const std::string& what) {
  const std::size_t n = std::min(what.size(), sizeof(part) - 1);
  std::memcpy(part, what.data(), n);
  part[n] = '\0';
  alarm(static_cast<unsigned>(seconds_));
}

}  // namespace octavo::testing
