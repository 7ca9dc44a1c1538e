#pragma once
// What the ranks of an expert-parallel layer say to each other. Every rank calls every operation,
// in the same order, whether it has rows or not.

#include <cstdint>
#include <functional>
#include <vector>

namespace octavo::switch_routing {

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  // Sends send[r] (all of one size) to rank r; returns what rank r sent here, in order of rank.
  // MPI_Alltoall.
  std::vector<std::vector<int>> exchange_counts(const std::vector<std::vector<int>>& send);

  // Sends the next send_rows[r] rows of `width` floats to rank r, and returns the rows from rank 0,
  // rank 1, ..; receive_rows[r] of them come from rank r. MPI_Alltoallv.
  std::vector<float> exchange_rows(const std::vector<float>& send,
                                   const std::vector<int>& send_rows,
                                   const std::vector<int>& receive_rows, std::int64_t width);

  // Bytes that this rank sent to others so far; what stays is not counted.
  std::int64_t bytes_sent() const { return bytes_sent_; }

 private:
  // One element type, counts in elements; what a rank sends itself included.
  virtual void all_to_all(const int* send, int* receive, int each) = 0;
  virtual void all_to_all_v(const float* send, const std::vector<int>& send_counts, float* receive,
                            const std::vector<int>& receive_counts) = 0;

  std::int64_t bytes_sent_ = 0;
};

// Runs `body` once for each rank, a thread each, and returns when all have. Rethrows the first
// error; a rank that exchanges with one that has left gets an Error too.
void run_ranks(int ranks, const std::function<void(Communicator&)>& body);

}  // namespace octavo::switch_routing
