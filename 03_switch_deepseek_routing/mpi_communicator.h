#pragma once
// The ranks of an MPI program as a Communicator.

#include <mpi.h>

#include <vector>

#include "03_switch_deepseek_routing/communicator.h"

namespace octavo::switch_routing {

// Between MPI_Init and MPI_Finalize.
class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

 private:
  void all_to_all(const int* send, int* receive, int each) override {
    MPI_Alltoall(send, each, MPI_INT, receive, each, MPI_INT, MPI_COMM_WORLD);
  }
  void all_to_all_v(const float* send, const std::vector<int>& send_counts, float* receive,
                    const std::vector<int>& receive_counts) override {
    const std::vector<int> out = starts(send_counts), in = starts(receive_counts);
    MPI_Alltoallv(send, send_counts.data(), out.data(), MPI_FLOAT, receive, receive_counts.data(),
                  in.data(), MPI_FLOAT, MPI_COMM_WORLD);
  }
  static std::vector<int> starts(const std::vector<int>& counts) {
    std::vector<int> at;
    int sum = 0;
    for (int n : counts) {
      at.push_back(sum);
      sum += n;
    }
    return at;
  }

  int rank_ = 0, ranks_ = 1;
};

}  // namespace octavo::switch_routing
