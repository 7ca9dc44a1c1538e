#pragma once
// What batch invariance promises, at length: batches of every size, on any number of threads, and
// on two of them at once, row for row the bits of the row alone.

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/threads.h"
#include "common/testing/contract.h"

namespace octavo::testing {

// One version with its weights prepared once, as the engine has it.
template <class Shape, class Args>
class Batches {
 public:
  // `shape` without its rows, which `run` gives.
  Batches(const Topic<Shape, Args>& topic, const Version<Args>& version, const Shape& shape,
          DType compute)
      : topic_(topic), version_(version), shape_(shape), weights_(settings({0, 1}, compute)) {
    (void)topic_.make(topic_.with_rows(shape_, 1), weights_);
    if (version_.prepare != nullptr) {
      prepared_ = version_.prepare(weights_.weights(), device_of(version_.backend));
    }
  }

  // The row outputs of so many rows from `first` on, one after another.
  std::vector<std::vector<std::byte>> run(ThreadPool& threads, std::int64_t first,
                                          std::int64_t count) const {
    Operands o(settings({first, count}, weights_.settings().compute));
    const Device& device = o.settings().device;
    const Args args = topic_.make(topic_.with_rows(shape_, count), o);
    const std::int64_t bytes = version_.workspace != nullptr ? version_.workspace(args, device) : 0;
    Exec exec(device, o.settings().compute, threads, bytes);
    version_.run(exec, args, prepared_);
    std::vector<std::vector<std::byte>> rows(static_cast<std::size_t>(count));
    for (const std::string& name : o.row_outputs()) {
      const std::vector<std::byte> all = o.result_bytes(name);
      const std::size_t each = all.size() / rows.size();
      for (std::size_t t = 0; t < rows.size(); ++t) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(t * each);
        rows[t].insert(rows[t].end(), begin, begin + static_cast<std::ptrdiff_t>(each));
      }
    }
    return rows;
  }

  // Batches of 1 to `most` rows on each number of threads, the last ones also on two threads at
  // once. One sentence for each difference.
  std::vector<std::string> breaches(std::int64_t most, const std::vector<int>& threads) const {
    std::vector<std::string> found;
    ThreadPool one(1);
    std::vector<std::vector<std::byte>> alone;
    for (std::int64_t t = 0; t < most; ++t) alone.push_back(run(one, t, 1).front());
    const auto same = [&](const std::vector<std::vector<std::byte>>& rows,
                          const std::string& what) {
      for (std::size_t t = 0; t < rows.size(); ++t) {
        if (rows[t] == alone[t]) continue;
        found.push_back(fmt::format("{} {} {}: row {} of {} {}: other bits than alone", topic_.name,
                                    version_.name, topic_.describe(shape_), t, rows.size(), what));
      }
    };
    for (const int n : threads) {
      ThreadPool pool(n);
      for (std::int64_t T = 1; T <= most; ++T) {
        same(run(pool, 0, T), fmt::format("on {} threads", n));
      }
    }
    std::vector<std::vector<std::byte>> here, there;
    ThreadPool mine(2), theirs(2);
    for (int round = 0; round < 4; ++round) {
      std::thread other([&] { there = run(theirs, 0, most); });
      here = run(mine, 0, most);
      other.join();
      same(here, "beside another run");
      same(there, "in another thread");
    }
    return found;
  }

 private:
  OperandSettings settings(RowWindow rows, DType compute) const {
    OperandSettings s;
    s.device = device_of(version_.backend);
    s.compute = compute;
    s.rows = rows;
    return s;
  }

  const Topic<Shape, Args>& topic_;
  const Version<Args>& version_;
  Shape shape_;
  Operands weights_;  // keeps the host copies that Prepared may borrow
  Prepared prepared_;
};

// Every version of the topic on a backend that is batch-invariant and takes the shape, in fp32 and
// bf16.
template <class Shape, class Args>
std::vector<std::string> batch_breaches(const Topic<Shape, Args>& topic, const Registry& registry,
                                        Backend backend, const Shape& shape, std::int64_t most,
                                        const std::vector<int>& threads) {
  std::vector<std::string> found;
  for (const Version<Args>& v : registry.versions<Args>(topic.name)) {
    for (const DType compute : {DType::kF32, DType::kBF16}) {
      const Args extents = args_of_shape(topic, topic.with_rows(shape, most), compute);
      if (v.backend != backend || !v.batch_invariant) continue;
      if (!v.takes(extents, device_of(backend), compute)) continue;
      const Batches<Shape, Args> batches(topic, v, shape, compute);
      for (const std::string& f : batches.breaches(most, threads)) found.push_back(f);
    }
  }
  return found;
}

}  // namespace octavo::testing
