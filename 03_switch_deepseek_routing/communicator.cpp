#include "03_switch_deepseek_routing/communicator.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "common/base/error.h"

namespace octavo::switch_routing {
namespace {

// What the threads of one run share: where each rank's outgoing data lie between two barriers, and
// whether a rank is gone, so that its data are too.
struct Meeting {
  explicit Meeting(int ranks)
      : barrier(ranks),
        ints(static_cast<std::size_t>(ranks)),
        floats(static_cast<std::size_t>(ranks)),
        counts(static_cast<std::size_t>(ranks)) {}
  void all_ready() {
    barrier.arrive_and_wait();
    require(!left, "expert parallelism: a rank has left");
  }
  std::barrier<> barrier;
  std::atomic<bool> left = false;
  std::vector<const int*> ints;
  std::vector<const float*> floats;
  std::vector<const std::vector<int>*> counts;
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(meeting_.ints.size()); }

 private:
  void all_to_all(const int* send, int* receive, int each) override {
    meeting_.ints[static_cast<std::size_t>(rank_)] = send;
    meeting_.all_ready();
    for (const int* from : meeting_.ints) receive = std::copy_n(from + rank_ * each, each, receive);
    meeting_.barrier.arrive_and_wait();  // and have been taken: they may change again
  }

  void all_to_all_v(const float* send, const std::vector<int>& send_counts, float* receive,
                    const std::vector<int>&) override {
    const auto me = static_cast<std::size_t>(rank_);
    meeting_.floats[me] = send;
    meeting_.counts[me] = &send_counts;
    meeting_.all_ready();
    for (std::size_t r = 0; r < meeting_.floats.size(); ++r) {
      const std::vector<int>& counts = *meeting_.counts[r];
      const int before = std::accumulate(counts.begin(), counts.begin() + rank_, 0);
      if (counts[me] > 0) {
        receive = std::copy_n(meeting_.floats[r] + before, counts[me], receive);
      }
    }
    meeting_.barrier.arrive_and_wait();  // and have been taken: they may change again
  }

  Meeting& meeting_;
  int rank_;
};

}  // namespace

std::vector<std::vector<int>> Communicator::exchange_counts(
    const std::vector<std::vector<int>>& send) {
  const std::size_t each = send.front().size();
  std::vector<int> out, in(each * send.size());
  for (const std::vector<int>& to : send) out.insert(out.end(), to.begin(), to.end());
  all_to_all(out.data(), in.data(), static_cast<int>(each));
  bytes_sent_ += static_cast<std::int64_t>((send.size() - 1) * each * sizeof(int));
  std::vector<std::vector<int>> received;
  for (std::size_t r = 0; r < send.size(); ++r) {
    const auto begin = in.begin() + static_cast<std::ptrdiff_t>(r * each);
    received.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(each));
  }
  return received;
}

std::vector<float> Communicator::exchange_rows(const std::vector<float>& send,
                                               const std::vector<int>& send_rows,
                                               const std::vector<int>& receive_rows,
                                               std::int64_t width) {
  constexpr std::int64_t kMost = 2147483647;  // MPI counts elements in an int
  const auto elements = [&](const std::vector<int>& rows) {
    std::vector<int> counts;
    std::int64_t sum = 0;
    for (int n : rows) {
      sum += n * width;
      require(sum <= kMost, "expert parallelism: {} elements in one exchange, at most {}", sum,
              kMost);
      counts.push_back(static_cast<int>(n * width));
    }
    return counts;
  };
  const std::vector<int> out = elements(send_rows), in = elements(receive_rows);
  const auto rows_in = std::accumulate(receive_rows.begin(), receive_rows.end(), std::int64_t{0});
  std::vector<float> received(static_cast<std::size_t>(rows_in * width));
  all_to_all_v(send.data(), out, received.data(), in);
  for (int r = 0; r < ranks(); ++r) {
    if (r == rank()) continue;
    bytes_sent_ += static_cast<std::int64_t>(sizeof(float)) * out[static_cast<std::size_t>(r)];
  }
  return received;
}

void run_ranks(int ranks, const std::function<void(Communicator&)>& body) {
  require(ranks >= 1, "expert parallelism: {} ranks", ranks);
  Meeting meeting(ranks);
  std::mutex mutex;
  std::exception_ptr error;
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        ThreadCommunicator communicator(meeting, r);
        body(communicator);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
      meeting.left = true;
      meeting.barrier.arrive_and_drop();  // nobody waits for who has left
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace octavo::switch_routing
