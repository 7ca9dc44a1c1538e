#include "common/base/threads.h"

#include <sched.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/counted.h"
#include "common/base/error.h"

namespace octavo {
namespace {

// A parked thread costs microseconds to wake; a layer of a small model is shorter than that. So a
// worker spins this long for the next job of the same forward before it parks.
constexpr std::chrono::microseconds kSpin{50};

thread_local bool inside_body = false;

int physical_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  std::set<std::pair<int, int>> cores;  // (package, core id): hyper-threads of one core count once
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const std::string topology = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
    int package = 0, core = cpu;
    std::ifstream(topology + "physical_package_id") >> package;
    if (!(std::ifstream(topology + "core_id") >> core)) core = cpu;
    cores.emplace(package, core);
  }
  return cores.empty() ? 1 : static_cast<int>(cores.size());
}

}  // namespace

struct ThreadPool::Impl {
  explicit Impl(int threads) {
    try {
      for (int t = 1; t < threads; ++t) workers.emplace_back([this] { work(); });
    } catch (const std::system_error& failure) {
      join();
      throw std::runtime_error(
          fmt::format("cannot start {}: {}", counted(threads, "thread"), failure.code().message()));
    }
  }

  ~Impl() { join(); }

  void join() {
    {
      std::lock_guard lock(mutex);
      stop.store(true);
    }
    wake.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  void work() {
    std::uint64_t seen = 0;
    while (wait_for_job(seen)) {
      run_share();
      pending.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  // Waits until a job newer than `seen` is there and updates `seen`; false when the pool ends.
  bool wait_for_job(std::uint64_t& seen) {
    const auto ready = [&] { return stop.load() || job.load(std::memory_order_acquire) != seen; };
    const auto deadline = std::chrono::steady_clock::now() + kSpin;
    while (!ready() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    if (!ready()) {
      std::unique_lock lock(mutex);
      wake.wait(lock, ready);
    }
    seen = job.load(std::memory_order_acquire);
    return !stop.load();
  }

  void run_share() {
    inside_body = true;
    for (;;) {
      const std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= count) break;
      try {
        (*body)(i);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next.store(count);
      }
    }
    inside_body = false;
  }

  std::vector<std::thread> workers;
  std::mutex mutex;
  std::mutex one_job;  // two callers take turns
  std::condition_variable wake;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> job{0};
  std::atomic<int> pending{0};
  std::atomic<std::int64_t> next{0};
  std::int64_t count = 0;
  const std::function<void(std::int64_t)>* body = nullptr;
  std::exception_ptr error;
};

ThreadPool::ThreadPool(int threads) {
  require(threads >= 1 && threads <= 1024, "threads is {}, must be from 1 to 1024", threads);
  impl_ = std::make_unique<Impl>(threads);
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::size() const { return static_cast<int>(impl_->workers.size()) + 1; }

void ThreadPool::parallel_for(std::int64_t n, const std::function<void(std::int64_t)>& body) {
  if (inside_body || n <= 1 || impl_->workers.empty()) {
    for (std::int64_t i = 0; i < n; ++i) body(i);
    return;
  }
  std::lock_guard turn(impl_->one_job);
  impl_->count = n;
  impl_->body = &body;
  impl_->error = nullptr;
  impl_->next.store(0);
  impl_->pending.store(static_cast<int>(impl_->workers.size()));
  {
    std::lock_guard lock(impl_->mutex);
    impl_->job.fetch_add(1, std::memory_order_acq_rel);
  }
  impl_->wake.notify_all();
  impl_->run_share();
  while (impl_->pending.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  if (impl_->error) std::rethrow_exception(std::exchange(impl_->error, nullptr));
}

int ThreadPool::default_size() {
  const char* text = std::getenv("OCTAVO_THREADS");
  if (text == nullptr || *text == '\0') return physical_cores();
  const std::string value(text);
  int threads = 0;
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), threads);
  require(status == std::errc() && end == value.data() + value.size() && threads >= 1 &&
              threads <= 1024,
          "OCTAVO_THREADS is '{}', must be a whole number from 1 to 1024", value);
  return threads;
}

}  // namespace octavo
