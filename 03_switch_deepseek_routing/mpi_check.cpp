// mpirun -n R ch03_mpi_check: one layer over R processes, a rank without tokens among them, held
// against the same layer in one process, bit for bit. Prints a line; exit status 1 when they
// differ, 2 when so many processes cannot share the experts.

#include <fmt/format.h>

#include "03_switch_deepseek_routing/mpi_communicator.h"
#include "03_switch_deepseek_routing/test_expert_parallel.h"
#include "common/base/counted.h"
#include "common/base/error.h"

namespace octavo::switch_routing {
namespace {

int check() {
  constexpr std::int64_t kEach = 25;
  MpiCommunicator ranks;
  const auto R = static_cast<std::size_t>(ranks.ranks());
  std::vector<std::int64_t> cut(R + 1);  // rank 1 has no tokens
  for (std::size_t r = 0; r < R; ++r) cut[r + 1] = cut[r] + (r == 1 ? 0 : kEach);
  const SpreadLayer layer(cut.back());
  const std::vector<float> mine = layer.rank_output(ranks, cut);
  std::vector<float> alone;
  run_ranks(1, [&](Communicator& one) { alone = layer.rank_output(one, {0, layer.T}); });
  const std::int64_t begin = cut[static_cast<std::size_t>(ranks.rank())] * SpreadLayer::D;
  int same = std::equal(mine.begin(), mine.end(), alone.begin() + begin) ? 1 : 0, all = 0;
  std::int64_t bytes = ranks.bytes_sent(), sum = 0;
  MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&bytes, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (ranks.rank() == 0) {
    fmt::print("{}, {}, {} between them: {}\n", counted(R, "rank"), counted(layer.T, "token"),
               counted(sum, "byte"),
               all != 0 ? "the same bits as on one rank" : "other bits than on one rank");
  }
  return all != 0 ? 0 : 1;
}

}  // namespace
}  // namespace octavo::switch_routing

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 2, rank = 0;
  try {
    status = octavo::switch_routing::check();
  } catch (const octavo::Error& error) {  // on all ranks alike: one says it
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) fmt::print(stderr, "ch03_mpi_check: {}\n", error.what());
  }
  MPI_Finalize();
  return status;
}
