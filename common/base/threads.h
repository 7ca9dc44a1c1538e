#pragma once
// A small persistent thread pool. The engine splits rows, heads and experts over it, never the
// terms of one sum, so a result does not depend on the number of threads.

#include <cstdint>
#include <functional>
#include <memory>

namespace octavo {

class ThreadPool {
 public:
  // Wants threads >= 1. The caller of parallel_for works too: threads - 1 are started.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;

  // Calls body(i) once for each i in [0, n), spread over the threads, and returns when all are
  // done. The first exception a body throws is rethrown here; the remaining indices are then
  // skipped. From inside a body it runs serially.
  void parallel_for(std::int64_t n, const std::function<void(std::int64_t)>& body);

  // OCTAVO_THREADS, or else the number of physical cores this process may use. Throws Error when
  // the variable is not a whole number from 1 to 1024.
  static int default_size();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace octavo
