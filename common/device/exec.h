#pragma once
// Exec: where and with what an operation runs.

#include "common/base/threads.h"

namespace octavo {

class Exec {
 public:
  explicit Exec(ThreadPool& threads) : threads_(&threads) {}
  ThreadPool& threads() const { return *threads_; }

 private:
  ThreadPool* threads_;
};

}  // namespace octavo
